import type { BusRecord } from '../events/change.ts';
import { binary, record, structured, tagBytes } from '../events/example-records.ts';
import { parse } from '../events/parse.ts';
import { letterOf, recordOf } from './letter.ts';

const deps = { prefix: 'support.', generation: 3, now: () => new Date('2026-02-01T00:00:00Z') };
const rejection = { reason: 'bad_data', detail: 'data: must be' } as const;
const letter = (given: BusRecord) => letterOf(deps, 'support.tags', { record: given, rejection });

const flat = ({ headers }: BusRecord) =>
  Object.entries(headers).flatMap(([name, content]) =>
    ([content].flat() as unknown[])
      .filter((value) => value === null || typeof value === 'string' || value instanceof Uint8Array)
      .map((value) => [name, value === null ? null : Buffer.from(value as string).toString('hex')]),
  );

test('a letter says where its record stood, whose it is and when it was set aside', () => {
  expect(letter(structured({ orgid: 'org_7' }))).toMatchObject({
    _id: 'support.tags/2/7',
    orgId: 'org_7',
    versioned: { id: 'tag_1', version: 3 },
    ...rejection,
    count: 1,
    generation: 3,
    firstAt: deps.now(),
    lastAt: deps.now(),
    timestampMs: structured().position.timestampMs,
  });
});

test.each<[string, BusRecord]>([
  ['without an organization and a version', structured({ orgid: 4, entityversion: 2 ** 53 })],
  ['that is not JSON', record(Buffer.from('{"orgid":"org_1"'))],
  ['that is a tombstone', record(null)],
])('a letter of a record %s names none', (_, given) => {
  expect(letter(given)).toMatchObject({ orgId: null, versioned: null });
});

test.each<[string, BusRecord]>([
  ['structured', structured()],
  ['binary', binary(tagBytes())],
  ['a header that is not UTF-8', binary(tagBytes(), {}, { ce_id: Buffer.from([0xff, 0xfe]) })],
  [
    'a header given twice, differently',
    binary(tagBytes(), {}, { ce_id: [Buffer.from('a'), Buffer.from('b')] }),
  ],
  [
    'headers without a value, and of names that a prototype has',
    binary(tagBytes(), {}, {
      ce_extra: null,
      constructor: [Object, Buffer.from('x')],
      ['__proto__']: 'y',
      'a.$b': '',
    } as unknown as BusRecord['headers']),
  ],
  ['no key and no value', { ...record(null), key: null }],
  ['bytes that are no text', { ...record(Buffer.from([0, 255, 0])), key: Buffer.from([255, 0]) }],
])('a record with %s comes out of its letter as it went in', (_, given) => {
  const again = recordOf(letter(given));
  const { headers, ...rest } = again;
  expect(rest).toEqual({ key: given.key, value: given.value, position: given.position });
  expect(flat({ ...again, headers })).toEqual(flat(given));
  expect(parse('tag', again)).toEqual(parse('tag', given));
});
