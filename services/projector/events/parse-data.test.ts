import fc from 'fast-check';
import { kinds, resources } from '../../../shared/documents/resources.ts';
import { channelsWithSecrets } from '../../../tests/support/channels-with-secrets.ts';
import { everyValue } from '../../../tests/support/every-value.ts';
import { attributes, bytes, ce, rawHeaders, record } from '../../../tests/support/example-records.ts';
import { examples, withData } from '../../../tests/support/example-states.ts';
import { parse } from './parse.ts';

const matching = (pattern: RegExp) => expect.stringMatching(pattern) as string;

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
  'a %s whose id lacks the prefix is rejected, and so is its tombstone',
  (kind) => {
    const named = withData(kind, { ...examples[kind], id: 'x_1' });
    expect(parse(kind, named)).toMatchObject({
      rejected: { reason: 'bad_envelope', detail: matching(/^subject: must be/) },
    });
    expect(parse(kind, { ...named, value: null })).toMatchObject({ rejected: { reason: 'key_mismatch' } });
  },
);

test('data with the id of another entity is rejected', () => {
  const other = record(bytes({ ...attributes, data: { id: 'tag_2', name: 'Other' } }));
  expect(parse('tag', other)).toEqual({
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

test('a rejection names at most five paths with their rules', () => {
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
    rejected: { reason: 'bad_data', detail: matching(/^data\.role: [^;]+; data\..+; and 2 more$/) },
  });
});

test.each(kinds)('the rejection of an invalid %s never quotes a value', (kind) => {
  for (const { replace } of everyValue(examples[kind], 'data')) {
    const id = examples[kind].id;
    const data = replace('canary');
    const spoiltRecord = {
      ...withData(kind, { id }),
      value: bytes({ ...attributes, type: `support.${kind}.updated.v1`, subject: id, data }),
    };
    const parsed = parse(kind, spoiltRecord);
    if ('rejected' in parsed) expect(parsed.rejected.detail).not.toContain('canary');
  }
});

describe('parse never throws', () => {
  const headerValue = fc.oneof(
    fc.string(),
    fc.uint8Array().map((given) => Buffer.from(given)),
    fc.constant(null),
  );
  const anyHeaders = fc.dictionary(
    fc.oneof(fc.constantFrom('content-type', 'Content-Type', '__proto__', ...Object.keys(ce())), fc.string()),
    fc.oneof(headerValue, fc.array(headerValue)),
  );
  const anyBytes = fc.option(
    fc.oneof(
      fc.uint8Array(),
      fc.json().map((text) => Buffer.from(text)),
    ),
    { nil: null },
  );

  test('on any bytes with any headers', () => {
    fc.assert(
      fc.property(fc.constantFrom(...kinds), anyBytes, anyBytes, anyHeaders, (kind, key, value, headers) => {
        const buffer = (given: Uint8Array | null) => given && Buffer.from(given);
        const parsed = parse(kind, {
          ...record(null),
          key: buffer(key),
          value: buffer(value),
          headers: rawHeaders(headers),
        });
        expect('change' in parsed !== 'rejected' in parsed).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  test('on an event whose attributes and data are any JSON', () => {
    const event = fc.record(
      Object.fromEntries(
        [...Object.keys(attributes), 'data', 'data_base64'].map((name) => [name, fc.jsonValue()]),
      ),
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.constantFrom(...kinds), event, fc.object(), (kind, given, data) => {
        const type = `support.${kind}.updated.v1`;
        const { id } = examples[kind];
        for (const body of [
          given,
          { ...attributes, type, subject: id, ...given },
          { ...attributes, type, subject: id, data: { ...examples[kind], ...data } },
        ])
          expect(parse(kind, record(bytes(body), {}, id))).toBeDefined();
      }),
      { numRuns: 500 },
    );
  });
});
