import type { Position } from '../documents/entity.ts';

/** A Kafka record, decompressed. */
export type KafkaRecord = {
  key: Buffer | null;
  value: Buffer | null;
  /** In Kafka's format: the number of headers, then each name and value. events/headers.ts reads and writes it. */
  headers: Buffer;
  position: Position;
  /** Set if this stands for the records of a batch that cannot be decoded, whose bytes are the value: the error. */
  undecodable?: string;
};

/** Bytes, and the place of the next one to read. */
export type Cursor = { bytes: Buffer; at: number };

/** The fields of a record batch that its records refer to. */
export type BatchContext = {
  partition: number;
  baseOffset: number;
  firstTimestampMs: number;
  /** The time of every record if the broker sets it on arrival; else null. */
  appendTimestampMs: number | null;
};

/** Reads a variable-length integer with a sign (zigzag). Throws a RangeError if the bytes end before it does. */
export function readVarint(cursor: Cursor): number {
  const value = readUnsignedVarint(cursor);
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

/** Reads a variable-length integer. Throws a RangeError if the bytes end before it does. */
export function readUnsignedVarint(cursor: Cursor): number {
  let value = 0;
  for (let factor = 1; factor < 2 ** 70; factor *= 128) {
    const byte = cursor.bytes[cursor.at++];
    if (byte === undefined) break;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return value;
  }
  throw new RangeError('a number of the record format does not end');
}

/** Reads bytes with their length before them; null for the length -1. The bytes are not copied. */
export function readBytes(cursor: Cursor): Buffer | null {
  const start = skipBytes(cursor);
  return start === null ? null : cursor.bytes.subarray(start, cursor.at);
}

/** Moves past bytes with their length before them, and returns the place of the first; null for the length -1. */
export function skipBytes(cursor: Cursor): number | null {
  const length = readVarint(cursor);
  if (length === -1) return null;
  const start = cursor.at;
  cursor.at += length;
  if (length < 0 || cursor.at > cursor.bytes.length) throw new RangeError('bytes end outside their record');
  return start;
}

/**
 * Reads the next record of format v2. Its key, value and headers are parts of the cursor's bytes. Throws a RangeError
 * if the bytes do not hold a record.
 */
export function readRecord(cursor: Cursor, batch: BatchContext): KafkaRecord {
  const end = endOfRecord(cursor);
  // One byte of attributes, which no version of Kafka uses.
  cursor.at += 1;
  const timestampMs = batch.firstTimestampMs + readVarint(cursor);
  const offset = batch.baseOffset + readVarint(cursor);
  const key = readBytes(cursor);
  const value = readBytes(cursor);
  const headersStart = cursor.at;
  for (let left = readVarint(cursor); left > 0; left -= 1) {
    if (skipBytes(cursor) === null) throw new RangeError('a header has no name');
    skipBytes(cursor);
  }
  if (cursor.at !== end) throw new RangeError('a record does not end at its length');
  const headers = cursor.bytes.subarray(headersStart, end);
  const { partition, appendTimestampMs } = batch;
  const position: Position = { partition, offset, timestampMs: appendTimestampMs ?? timestampMs };
  return { key, value, headers, position };
}

/** Reads the length of the next record, and returns the place of its end. Throws a RangeError if that is not there. */
export function endOfRecord(cursor: Cursor): number {
  const length = readVarint(cursor);
  const end = cursor.at + length;
  if (length < 0 || end > cursor.bytes.length) throw new RangeError('a record ends outside its batch');
  return end;
}

/** The bytes of a non-negative integer of less than 2^30, as `readVarint` reads it; -1 is allowed too. */
export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let left = value < 0 ? -2 * value - 1 : 2 * value;
  for (; left >= 0x80; left = Math.floor(left / 0x80)) bytes.push((left % 0x80) | 0x80);
  return Buffer.from([...bytes, left]);
}
