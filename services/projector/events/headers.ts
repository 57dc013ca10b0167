import {
  type KafkaRecord,
  readBytes,
  readVarint,
  skipBytes,
  varint,
} from '../../../shared/kafka/record-format.ts';
import { decodeText } from './bytes.ts';

/** The headers by name. A value is null if it is not UTF-8, or if the header occurs with different values. */
export type Headers = Map<string, string | null>;

/** One header of a record. */
export type RecordHeader = { name: string; value: Buffer | null };

/** The maximum number of headers of a record. A record with more becomes a dead letter. */
const headersMax = 1_000;
/** The maximum size of all headers of a record together, in bytes. */
const headersBytesMax = 256 * 1024;

/** The attributes of CloudEvents that the projector reads. */
const attributes = ['specversion', 'id', 'source', 'type', 'subject', 'time', 'orgid', 'entityversion'];
const wanted = new Set(['content-type', ...attributes.map((name) => `ce_${name}`)]);
const wantedLengths = new Set([...wanted].map(({ length }) => length));

/** The bytes of an empty list of headers. */
export const noHeaders = varint(0);

/** Describes headers that exceed their limits; null for others. */
export function describeLargeHeaders(headers: KafkaRecord['headers']): string | null {
  const count = readVarint({ bytes: headers, index: 0 });
  if (count <= headersMax && headers.length <= headersBytesMax) return null;
  return `headers: must be at most ${headersMax}, and take at most ${headersBytesMax} bytes`;
}

/**
 * The content type and the CloudEvents attributes of a record's headers, by lower-case name. Kafka allows repeated
 * names and null values: repeats with equal values count once, null values are ignored. Other headers are skipped
 * without being decoded.
 */
export function readHeaders(headers: KafkaRecord['headers']): Headers {
  const cursor = { bytes: headers, index: 0 };
  const found: Headers = new Map();
  for (let unread = readVarint(cursor); unread > 0; unread -= 1) {
    const nameStart = skipBytes(cursor) ?? cursor.index;
    const nameEnd = cursor.index;
    // Compares the length first, because decoding every name would be slow.
    const mayBeWanted = wantedLengths.has(nameEnd - nameStart);
    const name = mayBeWanted ? headers.toString('latin1', nameStart, nameEnd).toLowerCase() : '';
    if (!wanted.has(name)) {
      skipBytes(cursor);
      continue;
    }
    const value = readBytes(cursor);
    if (value === null) continue;
    const text = decodeText(value);
    found.set(name, found.has(name) && found.get(name) !== text ? null : text);
  }
  return found;
}

/** The number of headers, and the bytes of their names and values. */
export function measureHeaders(headers: KafkaRecord['headers']): { count: number; bytes: number } {
  const cursor = { bytes: headers, index: 0 };
  const count = readVarint(cursor);
  let bytes = 0;
  for (let unread = 2 * count; unread > 0; unread -= 1) {
    const start = skipBytes(cursor);
    if (start !== null) bytes += cursor.index - start;
  }
  return { count, bytes };
}

/** Decodes all headers of a record, in their order. The values are parts of `headers`, not copies. */
export function decodeHeaders(headers: KafkaRecord['headers']): RecordHeader[] {
  const cursor = { bytes: headers, index: 0 };
  return Array.from({ length: readVarint(cursor) }, () => ({
    name: String(readBytes(cursor) ?? ''),
    value: readBytes(cursor),
  }));
}

/** Encodes headers in Kafka's format: the inverse of `decodeHeaders`. */
export const encodeHeaders = (headers: RecordHeader[]): Buffer =>
  Buffer.concat([
    varint(headers.length),
    ...headers.flatMap(({ name, value }) => [...withLength(Buffer.from(name)), ...withLength(value)]),
  ]);

const withLength = (bytes: Buffer | null): Buffer[] => (bytes ? [varint(bytes.length), bytes] : [varint(-1)]);

/** Whether the content type is that of one event as a whole, such as `application/cloudevents+json; charset=utf-8`. */
export const isStructured = (headers: Headers): boolean =>
  /^\s*application\/cloudevents(?!-batch)/i.test(headers.get('content-type') ?? '');
