import { useProjector } from '../support/use-projector.ts';

/** The attributes of a tag's event as headers: every SDK writes them all, in an order of its own. */
const ce = (id: string, verb: 'created' | 'deleted', version: number): Record<string, string> => ({
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

type Written = { value: string; headers: Record<string, string> };

/** The headers and bytes of a creation, by the SDK that writes them. */
const creations: Record<string, (id: string) => Written> = {
  'Java SDK 4.0.1, binary, data without a content type': (id) => ({
    value: data(id),
    headers: ce(id, 'created', 1),
  }),
  'Go SDK 2.16.2, binary, data without a content type': (id) => ({
    value: data(id),
    headers: Object.fromEntries(Object.entries(ce(id, 'created', 1)).reverse()),
  }),
  'Java SDK 4.0.1, binary': (id) => ({
    value: data(id),
    headers: { ...ce(id, 'created', 1), 'content-type': 'application/json' },
  }),
  'Python SDK, cloudevents.v1.kafka.to_structured': (id) => ({
    value: completeEvent(id),
    headers: { 'content-type': 'application/json' },
  }),
  'Spring, ce_datacontenttype in place of a content type': (id) => ({
    value: data(id),
    headers: {
      ...ce(id, 'created', 1),
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
  const ids = (rows: object, prefix: string) =>
    Object.keys(rows).map((row, index) => [row, `${prefix}_${index}`] as const);

  test('are applied in every form', async () => {
    const written = ids(creations, 'tag');
    for (const [row, id] of written) await send('tag', { key: id, value: '', ...creations[row]?.(id) });
    await applied();
    expect(await deadLetters()).toEqual([]);
    const stored = await Promise.all(written.map(async ([row, id]) => [row, (await find('tag', id))?.state]));
    expect(stored).toEqual(written.map(([row, id]) => [row, { id, name: 'Billing' }]));
  });

  test('delete entities in every form', async () => {
    const written = ids(deletions, 'gone');
    for (const [, id] of written)
      await send('tag', { key: id, value: data(id), headers: ce(id, 'created', 1) });
    for (const [row, id] of written)
      await send('tag', { key: id, value: deletions[row] ?? null, headers: ce(id, 'deleted', 2) });
    await applied();
    expect(await deadLetters()).toEqual([]);
    const stored = await Promise.all(
      written.map(async ([row, id]) => {
        const document = await find('tag', id);
        return [row, document?.version, document?.state, document?.tombstonePosition];
      }),
    );
    expect(stored).toEqual(written.map(([row]) => [row, 2, undefined, undefined]));
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
