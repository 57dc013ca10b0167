import fc from 'fast-check';
import { examples, kinds, resources } from '../../../shared/documents/resources.ts';
import { channelsWithSecrets } from '../../../tests/support/channels-with-secrets.ts';
import {
  attributes,
  bytes,
  ce,
  rawHeaders,
  record,
  withData,
} from '../../../tests/support/example-records.ts';
import { matching } from '../../../tests/support/matchers.ts';
import { parse } from './parse.ts';

test.each(kinds)('a %s is parsed, and fields outside the contract are dropped', (kind) => {
  const parsed = parse(kind, withData(kind, { ...examples[kind], canary: 'canary' }));
  expect(parsed).toMatchObject({ change: { op: 'upsert', id: examples[kind].id } });
  expect(JSON.stringify(parsed)).not.toContain('canary');
});

test.each(channelsWithSecrets)(
  'a channel keeps no secret in any of its blocks: $data.type $data.id',
  ({ id, data }) => {
    const parsed = parse('channel', withData('channel', { id, ...data }));
    expect(JSON.stringify(data)).toContain('SECRET');
    expect(parsed).toMatchObject({ change: { op: 'upsert', id } });
    expect(JSON.stringify(parsed)).not.toMatch(/SECRET|identitySecret|credentials|syncState/);
  },
);

test.each(kinds.filter((kind) => resources[kind].idPrefix !== ''))(
  'a %s or a tombstone whose id lacks the prefix is rejected',
  (kind) => {
    const named = withData(kind, { ...examples[kind], id: 'x_1' });
    expect(parse(kind, named)).toMatchObject({
      rejected: { reason: 'bad_envelope', detail: matching(/^subject: must be/) },
    });
    expect(parse(kind, { ...named, value: null })).toMatchObject({ rejected: { reason: 'key_mismatch' } });
  },
);

test('data with the id of another entity is rejected', () => {
  const otherEntity = record(bytes({ ...attributes, data: { id: 'tag_2', name: 'Other' } }));
  expect(parse('tag', otherEntity)).toEqual({
    rejected: { reason: 'key_mismatch', detail: 'data.id: must equal the subject' },
  });
});

test.each([[undefined], [null], ['{"id":"tag_1"}'], [[]], [{ id: 'tag_1' }]])(
  'data %j is rejected',
  (data) => {
    expect(parse('tag', record(bytes({ ...attributes, data })))).toMatchObject({
      rejected: { reason: 'bad_data' },
    });
  },
);

describe('the rate limit of a key', () => {
  const parseWithLimit = (rateLimit: unknown) =>
    parse('apiKey', withData('apiKey', { ...examples.apiKey, rateLimit }));

  test.each([1, 500, Number.MAX_SAFE_INTEGER, null])('%j is kept', (rateLimit) => {
    expect(parseWithLimit(rateLimit)).toMatchObject({ change: { op: 'upsert', state: { rateLimit } } });
  });

  test('an absent limit is read as null', () => {
    expect(parseWithLimit(undefined)).toMatchObject({ change: { state: { rateLimit: null } } });
  });

  test.each([0, -1, 1.5, 2 ** 53, '500', true, []])('%j is rejected', (rateLimit) => {
    expect(parseWithLimit(rateLimit)).toMatchObject({
      rejected: { reason: 'bad_data', detail: matching(/^data\.rateLimit: /) },
    });
  });
});

test('a rejection names the first path and its rule, without list indexes and values', () => {
  const bad = {
    ...examples.conversation,
    title: 1,
    status: 'canary',
    role: 2,
    tagIds: [3, 4, 5],
    topicIds: {},
  };
  const parsed = parse('conversation', withData('conversation', bad));
  expect(parsed).toMatchObject({
    rejected: { reason: 'bad_data', detail: matching(/^data\.role: [^;]+; and others$/) },
  });
  const details = [0, 1, 17].map((index) => {
    const tagIds = Array.from({ length: index + 1 }, (_, place) => (place === index ? 3 : 'tag_1'));
    const parsedTicket = parse('ticket', withData('ticket', { ...examples.ticket, tagIds }));
    return 'rejected' in parsedTicket ? parsedTicket.rejected.detail : '';
  });
  expect(new Set(details)).toEqual(new Set([matching(/^data\.tagIds\[\]: /)]));
});

test('parse never throws for random bytes, headers, attributes and data', () => {
  const headerValue = fc.oneof(
    fc.string(),
    fc.uint8Array().map((content) => Buffer.from(content)),
    fc.constant(null),
  );
  const anyHeaders = fc.dictionary(
    fc.oneof(fc.constantFrom('content-type', 'Content-Type', '__proto__', ...Object.keys(ce())), fc.string()),
    fc.oneof(headerValue, fc.array(headerValue)),
  );
  const anyBytes = fc.option(
    fc.oneof(fc.uint8Array(), fc.json()).map((content) => Buffer.from(content)),
    { nil: null },
  );
  const names = [...Object.keys(attributes), 'data', 'data_base64'];
  const anyEvent = fc.record(Object.fromEntries(names.map((name) => [name, fc.jsonValue()])), {
    requiredKeys: [],
  });
  const kind = fc.constantFrom(...kinds);
  fc.assert(
    fc.property(
      kind,
      anyBytes,
      anyBytes,
      anyHeaders,
      anyEvent,
      fc.object(),
      (anyKind, key, value, ...any) => {
        const [headers, event, data] = any;
        const { id } = examples[anyKind];
        const typed = { ...attributes, type: `support.${anyKind}.updated.v1`, subject: id };
        for (const example of [
          { ...record(value), key, headers: rawHeaders(headers) },
          record(bytes(event), {}, id),
          record(bytes({ ...typed, ...event }), {}, id),
          record(bytes({ ...typed, data_base64: event.data_base64 }), {}, id),
          record(bytes({ ...typed, data: { ...examples[anyKind], ...data } }), {}, id),
        ]) {
          const parsed = parse(anyKind, example);
          expect('change' in parsed !== 'rejected' in parsed).toBe(true);
        }
      },
    ),
    { numRuns: 700 },
  );
});
