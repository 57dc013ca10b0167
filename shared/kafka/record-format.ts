import type { Position } from '../documents/entity.ts';

/** A Kafka record, decompressed. */
export type KafkaRecord = {
  key: Buffer | null;
  value: Buffer | null;
  /** In Kafka's format: the number of headers, then each name and value. events/headers.ts reads and writes it. */
  headers: Buffer;
  position: Position;
  /**
   * Why a batch cannot be decoded. Only the placeholder for the records of such a batch has this error; its value is
   * the batch.
   */
  undecodable?: string;
};

/** Bytes, and the index of the next byte to read. */
export type Cursor = { bytes: Buffer; index: number };

/** The fields of a record batch that its records refer to. */
export type BatchContext = {
  partition: number;
  baseOffset: number;
  firstTimestampMs: number;
  /** The time of every record, if the broker sets it on arrival; otherwise null. */
  appendTimestampMs: number | null;
};

/** Reads a signed integer of variable length (zigzag). Throws a RangeError if the bytes end within it. */
export function readVarint(cursor: Cursor): number {
  const value = readUnsignedVarint(cursor);
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

/** The maximum length of an integer of 64 bits, of which each byte has seven. */
const varintBytesMax = 10;

/** Reads an unsigned integer of variable length. Throws a RangeError if the bytes end within it. */
export function readUnsignedVarint(cursor: Cursor): number {
  let value = 0;
  let factor = 1;
  for (let count = 1; count <= varintBytesMax; count += 1) {
    const byte = cursor.bytes[cursor.index++];
    if (byte === undefined) break;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return value;
    factor *= 128;
  }
  throw new RangeError('a number of the record format does not end');
}

/** Reads a length, then returns that number of bytes without a copy; null for the length -1. */
export function readBytes(cursor: Cursor): Buffer | null {
  const start = skipBytes(cursor);
  return start === null ? null : cursor.bytes.subarray(start, cursor.index);
}

/** Reads a length, and skips that number of bytes. Returns the index of the first of them; null for the length -1. */
export function skipBytes(cursor: Cursor): number | null {
  const length = readVarint(cursor);
  if (length === -1) return null;
  const start = cursor.index;
  cursor.index += length;
  if (length < 0 || cursor.index > cursor.bytes.length)
    throw new RangeError('bytes end outside their record');
  return start;
}

/**
 * Reads the next record of format v2, without a copy: its key, value and headers are parts of the cursor's bytes.
 * Throws a RangeError if the bytes are not a record.
 */
export function readRecord(cursor: Cursor, batch: BatchContext): KafkaRecord {
  const end = endOfRecord(cursor);
  // One byte of attributes, which no version of Kafka uses.
  cursor.index += 1;
  const timestampMs = batch.firstTimestampMs + readVarint(cursor);
  const offset = batch.baseOffset + readVarint(cursor);
  const key = readBytes(cursor);
  const value = readBytes(cursor);
  const headersStart = cursor.index;
  for (let unread = readVarint(cursor); unread > 0; unread -= 1) {
    if (skipBytes(cursor) === null) throw new RangeError('a header has no name');
    skipBytes(cursor);
  }
  if (cursor.index !== end) throw new RangeError('a record does not end at its length');
  const headers = cursor.bytes.subarray(headersStart, end);
  const { partition, appendTimestampMs } = batch;
  const position: Position = { partition, offset, timestampMs: appendTimestampMs ?? timestampMs };
  return { key, value, headers, position };
}

/**
 * Reads the length of the next record, and returns the index of its end. Throws a RangeError if the bytes are fewer.
 */
export function endOfRecord(cursor: Cursor): number {
  const length = readVarint(cursor);
  const end = cursor.index + length;
  if (length < 0 || end > cursor.bytes.length) throw new RangeError('a record ends outside its batch');
  return end;
}

/** Encodes an integer from -1 to 2^30 - 1 for `readVarint`. */
export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let remaining = value < 0 ? -2 * value - 1 : 2 * value;
  while (remaining >= 0x80) {
    bytes.push((remaining % 0x80) | 0x80);
    remaining = Math.floor(remaining / 0x80);
  }
  return Buffer.from([...bytes, remaining]);
}
