import { createHash } from 'node:crypto';
import type { Binary } from 'mongodb';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import {
  binary,
  type Headers,
  record,
  structured,
  tagBytes,
} from '../../../tests/support/example-records.ts';
import { entityVersion } from '../events/envelope.ts';
import { parse } from '../events/parse.ts';
import { buffer, recordFields, recordOf } from './dead-letter.ts';

const prefix = 'support.';
const deadLetter = (given: KafkaRecord) => recordFields('support.tags', prefix, given);

const long = (prefix: string) => prefix.padEnd(257, 'x');

test('a dead letter has the position of its record, its organization and its entity', () => {
  expect(deadLetter(structured({ orgid: 'org_7' }))).toMatchObject({
    topic: 'support.tags',
    partition: 2,
    offset: 7,
    orgId: 'org_7',
    versioned: { id: 'tag_1', version: 3 },
    timestampMs: structured().position.timestampMs,
  });
});

test.each<[string, KafkaRecord]>([
  ['without an organization and a version', structured({ orgid: 4, entityversion: 2 ** 53 })],
  ['that is not JSON', record(Buffer.from('{"orgid":"org_1"'))],
  ['that is a tombstone', record(null)],
  [
    'whose organization and subject are longer than any',
    structured({ orgid: long('org_'), subject: long('') }),
  ],
])('a dead letter of a record %s names no organization and no version', (_, given) => {
  expect(deadLetter(given)).toMatchObject({ orgId: null, versioned: null });
});

test.each<[string, KafkaRecord]>([
  ['structured', structured()],
  ['binary', binary(tagBytes())],
  ['a header that is not UTF-8', binary(tagBytes(), {}, { ce_id: Buffer.from([0xff, 0xfe]) })],
  [
    'a header given twice, differently',
    binary(tagBytes(), {}, { ce_id: [Buffer.from('a'), Buffer.from('b')] }),
  ],
  [
    'headers without a value, and of names that a prototype has',
    binary(tagBytes(), {}, { ce_extra: null, constructor: 'x', ['__proto__']: 'y', 'a.$b': '' }),
  ],
  ['no key and no value', { ...record(null), key: null }],
  ['bytes that are no text', { ...record(Buffer.from([0, 255, 0])), key: Buffer.from([255, 0]) }],
])('a record with %s is restored from its dead letter byte by byte', (_, given) => {
  const again = recordOf(deadLetter(given));
  expect(again).toEqual(given);
  expect(parse('tag', again)).toEqual(parse('tag', given));
});

const megabyte = 1024 * 1024;
const text = (bytes: Binary | null) => buffer(bytes)?.toString();

test('a record of 8 MB is stored whole, a larger one as its head, sizes and hash', () => {
  const key = 'k'.repeat(2_000);
  const headers = { ce_id: Buffer.from('evt_1') };
  const value = Buffer.alloc(8 * megabyte - 4_000, 'v');
  expect(deadLetter(record(value, headers, key))).toMatchObject({
    truncated: null,
    bytes: value.length + 2_010,
  });
  const larger = Buffer.concat([value, Buffer.alloc(4_000, 'w')]);
  const head = deadLetter(record(larger, headers, key));
  expect(text(head.key)).toBe('k'.repeat(1_024));
  expect(text(head.value)).toBe('v'.repeat(65_536));
  expect(head.headers.map(({ name, value }) => [name, text(value)])).toEqual([['ce_id', 'evt_1']]);
  expect(head).toMatchObject({
    bytes: larger.length + 2_010,
    truncated: {
      keyBytes: 2_000,
      headersBytes: 10,
      valueBytes: larger.length,
      sha256: createHash('sha256').update(larger).digest('hex'),
    },
  });
});

test.each<[string, Headers]>([
  ['large', { 'x-large': Buffer.alloc(9 * megabyte) }],
  ['many', { x: Array.from({ length: 200_000 }, () => Buffer.alloc(0)) }],
])('headers that are too %s for a document are left out, and their bytes are counted', (_, headers) => {
  const head = deadLetter(binary(tagBytes(), {}, headers));
  expect(head).toMatchObject({ headers: [], orgId: 'org_1', subjects: ['tag_1'] });
  expect(head.truncated?.headersBytes).toBeGreaterThanOrEqual(200_000);
  // and key and value, which are short enough, are stored whole
  expect(text(head.key)).toBe('tag_1');
  expect(text(head.value)).toBe(tagBytes().toString());
});

test('the subjects of a dead letter come from its whole record, also from after the stored head', () => {
  const data = { id: 'msg_1', content: 'x'.repeat(9 * megabyte), conversationId: 'conv_1' };
  const given = structured({ subject: 'msg_1', type: 'support.message.updated.v1', data });
  const head = recordFields('support.messages', prefix, { ...given, key: null });
  expect(text(head.value)).not.toContain('conv_1');
  expect(head.subjects).toEqual(['msg_1', 'conv_1']);
});

describe('a field of a dead letter for which the code throws is left out, and the bytes are kept', () => {
  afterEach(() => jest.restoreAllMocks());
  const fail = () => {
    throw new TypeError('canary');
  };
  const failing = (given: KafkaRecord) => {
    const steps: string[] = [];
    const fields = recordFields('support.tags', prefix, given, { onFailed: (step) => steps.push(step) });
    return { steps, fields };
  };

  test('the organization and the version', () => {
    jest.spyOn(entityVersion, 'safeParse').mockImplementation(fail);
    const { steps, fields } = failing(structured());
    expect(steps).toEqual(['identity']);
    expect(fields).toMatchObject({ orgId: null, versioned: null, subjects: ['tag_1'], truncated: null });
    expect(text(fields.value)).toBe(structured().value?.toString());
  });

  test('the subjects, which are then every id in its bytes', () => {
    jest.spyOn(JSON, 'parse').mockImplementation(fail);
    const event = structured({ type: 'support.message.updated.v1', data: { id: 'msg_1', content: 'msg_2' } });
    const fields = recordFields('support.messages', prefix, event);
    expect(fields.subjects).toEqual(['tag_1', 'msg_1', 'msg_2']);
  });

  test('headers that end too early', () => {
    const { steps, fields } = failing({ ...structured(), headers: Buffer.from([4, 200]) });
    expect(steps).toEqual(['content', 'identity', 'subjects']);
    expect(fields).toMatchObject({ headers: [], orgId: null, subjects: ['tag_1'] });
    expect(text(fields.value)).toBe(structured().value?.toString());
  });

  test('but not for a lack of memory, after which the batch is retried', () => {
    jest.spyOn(entityVersion, 'safeParse').mockImplementation(() => {
      throw new RangeError('Array buffer allocation failed');
    });
    expect(() => failing(structured())).toThrow('allocation failed');
  });
});
