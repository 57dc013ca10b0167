import { useProjector } from '../support/use-projector.ts';

/** The attributes of a tag's event as headers: every SDK writes them all, in an order of its own. */
const cloudEventHeaders = (
  id: string,
  verb: 'created' | 'deleted',
  version: number,
): Record<string, string> => ({
  ce_specversion: '1.0',
  ce_id: `${id}-${version}`,
  ce_source: '/support/product',
  ce_type: `support.tag.${verb}.v1`,
  ce_subject: id,
  ce_time: '2026-01-01T00:00:00Z',
  ce_orgid: 'org_1',
  ce_entityversion: String(version),
});

const data = (id: string) => `{"id":"${id}","name":"Billing"}`;

const completeEvent = (id: string) =>
  `{"specversion":"1.0","id":"${id}-1","source":"/support/product","type":"support.tag.created.v1","subject":"${id}",` +
  `"time":"2026-01-01T00:00:00Z","orgid":"org_1","entityversion":"1","data":${data(id)}}`;

type WrittenRecord = { value: string; headers: Record<string, string> };

/** The headers and bytes of a creation, by the SDK that writes them. */
const creations: Record<string, (id: string) => WrittenRecord> = {
  'Java SDK 4.0.1, binary, data without a content type': (id) => ({
    value: data(id),
    headers: cloudEventHeaders(id, 'created', 1),
  }),
  'Go SDK 2.16.2, binary, data without a content type': (id) => ({
    value: data(id),
    headers: Object.fromEntries(Object.entries(cloudEventHeaders(id, 'created', 1)).reverse()),
  }),
  'Java SDK 4.0.1, binary': (id) => ({
    value: data(id),
    headers: { ...cloudEventHeaders(id, 'created', 1), 'content-type': 'application/json' },
  }),
  'Python SDK, cloudevents.v1.kafka.to_structured': (id) => ({
    value: completeEvent(id),
    headers: { 'content-type': 'application/json' },
  }),
  'Spring, ce_datacontenttype in place of a content type': (id) => ({
    value: data(id),
    headers: {
      ...cloudEventHeaders(id, 'created', 1),
      ce_datacontenttype: 'application/json',
      contentType: '"application/json"',
    },
  }),
  'a media type without its format': (id) => ({
    value: completeEvent(id),
    headers: { 'content-type': 'application/cloudevents; charset=utf-8' },
  }),
  'JavaScript SDK, structured': (id) => ({
    value: completeEvent(id),
    headers: { 'content-type': 'application/cloudevents+json; charset=utf-8' },
  }),
  'no headers at all': (id) => ({ value: completeEvent(id), headers: {} }),
};

/** The values of a binary deletion: an SDK writes one of these for an event without data. */
const deletions: Record<string, string | null> = {
  'a null value': null,
  'an empty value': '',
  'the JSON null': 'null',
  'an empty JSON text': '""',
};

describe('records of CloudEvents SDKs', () => {
  const { send, applied, find, deadLetters, cli } = useProjector();
  test('are applied in every form', async () => {
    const written = Object.entries(creations).map(([form, write], index) => {
      const id = `tag_${index}`;
      return { form, id, record: write(id) };
    });
    for (const { id, record } of written) await send('tag', { key: id, ...record });
    await applied();
    expect(await deadLetters()).toEqual([]);
    for (const { form, id } of written) {
      const state = (await find('tag', id))?.state;
      expect({ form, state }).toEqual({ form, state: { id, name: 'Billing' } });
    }
  });

  test('delete entities in every form', async () => {
    const written = Object.entries(deletions).map(([form, value], index) => {
      return { form, value, id: `gone_${index}` };
    });
    for (const { id } of written)
      await send('tag', { key: id, value: data(id), headers: cloudEventHeaders(id, 'created', 1) });
    for (const { id, value } of written)
      await send('tag', { key: id, value, headers: cloudEventHeaders(id, 'deleted', 2) });
    await applied();
    expect(await deadLetters()).toEqual([]);
    for (const { form, id } of written) {
      const { version, state, tombstonePosition } = (await find('tag', id)) ?? {};
      const expected = { form, version: 2, state: undefined, tombstonePosition: undefined };
      expect({ form, version, state, tombstonePosition }).toEqual(expected);
    }
  });

  test('of neither content mode are rejected with the missing header', async () => {
    await send('tag', {
      key: 'tag_other',
      value: data('tag_other'),
      headers: { 'ce-id': '1', traceparent: '2' },
    });
    await applied();
    expect(await deadLetters()).toMatchObject([
      { reason: 'bad_envelope', detail: 'specversion: is missing; there is no header ce_specversion' },
    ]);
    const [letter] = await deadLetters();
    expect((await cli('dead-letters', 'show', letter?._id ?? '')).text).toMatch(
      /^headers +ce-id, traceparent$/m,
    );
  });
});
