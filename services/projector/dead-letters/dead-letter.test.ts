import { type Binary, BSON } from 'mongodb';
import type { OnRecordStepFailed } from '../../../shared/control/rejections.ts';
import { type KafkaRecord, varint } from '../../../shared/kafka/record-format.ts';
import {
  binary as binaryMode,
  rawHeaders,
  record,
  structured,
  tagBytes,
} from '../../../tests/support/example-records.ts';
import { mebibyte } from '../../../tests/support/memory.ts';
import { parse } from '../events/parse.ts';
import { type RecordFields, recordFields, recordOf, toBuffer } from './dead-letter.ts';

const prefix = 'support.';

function deadLetter(rejected: KafkaRecord, onFailed?: OnRecordStepFailed): RecordFields {
  const fields = recordFields('support.tags', prefix, rejected, onFailed);
  if (!fields) throw new Error('the record has no bytes');
  return fields;
}

/** An id that is longer than the contract allows. */
const tooLong = (start: string) => start.padEnd(257, 'x');

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
    'whose organization and subject are longer than allowed',
    structured({ orgid: tooLong('org_'), subject: tooLong('') }),
  ],
])('a dead letter of a record %s names no organization and no version', (_, rejected) => {
  expect(deadLetter(rejected)).toMatchObject({ orgId: null, versioned: null });
});

test.each<[string, KafkaRecord]>([
  ['structured', structured()],
  ['binary', binaryMode(tagBytes())],
  ['a header that is not UTF-8', binaryMode(tagBytes(), {}, { ce_id: Buffer.from([0xff, 0xfe]) })],
  [
    'a header given twice, differently',
    binaryMode(tagBytes(), {}, { ce_id: [Buffer.from('a'), Buffer.from('b')] }),
  ],
  [
    'headers without a value, and headers whose names exist on Object.prototype',
    binaryMode(tagBytes(), {}, { ce_extra: null, constructor: 'x', ['__proto__']: 'y', 'a.$b': '' }),
  ],
  ['no key and no value', { ...record(null), key: null }],
  [
    'a key and a value that are not UTF-8',
    { ...record(Buffer.from([0, 255, 0])), key: Buffer.from([255, 0]) },
  ],
])('a record with %s is restored from its dead letter byte by byte', (_, original) => {
  const restored = recordOf(deadLetter(original));
  expect(restored).toEqual(original);
  expect(parse('tag', restored)).toEqual(parse('tag', original));
});

/** The headers of a record with a single one. */
const headersWithName = (name: Buffer) => Buffer.concat([varint(1), varint(name.length), name, varint(0)]);
const text = (bytes: Binary | null) => toBuffer(bytes)?.toString();

test('the dead letter of an undecodable batch is rejected again as undecodable', () => {
  const undecodable = 'the records of offsets 7 to 9 cannot be decoded: unexpected end of data';
  const restored = recordOf(deadLetter({ ...structured(), undecodable }));
  expect(parse('tag', restored)).toMatchObject({ rejected: { reason: 'undecodable' } });
});

test('the size of a dead letter counts its bytes, each header, and its document', () => {
  const large = deadLetter(record(Buffer.alloc(9 * mebibyte), { x: ['', ''] }, 'key'));
  const keyBytes = 3;
  const headerNameBytes = 2;
  expect(large.bytes).toBe(9 * mebibyte + keyBytes + headerNameBytes);
  // Two headers with 64 bytes of overhead each, and 1,024 bytes for the document.
  expect(large.size).toBe(large.bytes + 2 * 64 + 1_024);
});

test.each([
  ['of many small headers', rawHeaders({ x: Array.from({ length: 20_000 }, () => '') })],
  ['of a header whose name is not UTF-8', headersWithName(Buffer.alloc(6 * mebibyte, 0xff))],
])('the size of a dead letter %s is at least the size of its document', (_, headers) => {
  const fields = deadLetter({ ...record(null), headers });
  expect(BSON.calculateObjectSize(fields)).toBeLessThanOrEqual(fields.size);
});

test('the subjects of a dead letter come from its whole record', () => {
  const data = { id: 'msg_1', content: 'x'.repeat(9 * mebibyte), conversationId: 'conv_1' };
  const message = structured({ subject: 'msg_1', type: 'support.message.updated.v1', data });
  const fields = recordFields('support.messages', prefix, { ...message, key: null });
  expect(fields?.subjects).toEqual(['msg_1', 'conv_1']);
});

describe('if a field of a dead letter cannot be built because of a bug', () => {
  const failing = (topic: string, rejected: KafkaRecord) => {
    const steps: string[] = [];
    const fields = recordFields(`${prefix}${topic}`, prefix, rejected, (step) => steps.push(step));
    return { steps, fields };
  };
  const event = structured({ type: 'support.message.updated.v1', data: { id: 'msg_1', content: 'msg_2' } });
  /** A record whose event cannot be read: its headers lack the methods of a Buffer. */
  const unreadable = { ...event, headers: Uint8Array.from(event.headers) as Buffer };

  test('the organization and the version are left out', () => {
    const { steps, fields } = failing('messages', unreadable);
    expect(steps).toEqual(['identity', 'subjects']);
    expect(fields).toMatchObject({ orgId: null, versioned: null });
    expect(text(fields?.value ?? null)).toBe(event.value?.toString());
  });

  test('the subjects fall back to every id in the bytes', () => {
    expect(failing('messages', unreadable).fields?.subjects).toEqual(['tag_1', 'msg_1', 'msg_2']);
  });

  test('a record whose headers end too early gets no attachment', () => {
    expect(failing('tags', { ...structured(), headers: Buffer.from([4, 200]) })).toEqual({
      steps: ['content'],
      fields: null,
    });
  });

  test('a lack of memory is thrown', () => {
    const outOfMemory: KafkaRecord = {
      ...structured(),
      get value(): Buffer {
        throw new RangeError('Array buffer allocation failed');
      },
    };
    expect(() => failing('tags', outOfMemory)).toThrow('allocation failed');
  });
});
