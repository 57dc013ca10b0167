import { createHash } from 'node:crypto';
import { Binary } from 'mongodb';
import type { KafkaRecord } from '../events/change.ts';
import { decodeHeaders, measureHeaders } from '../events/headers.ts';
import type { DeadLetter, DeadLetterHeader } from './collection.ts';

/** A document in the store holds 16 MB. Of a record larger than this limit, only the head is stored. */
const wholeBytesMax = 8 * 1024 * 1024;
const headBytes = { key: 1024, headers: 64 * 1024, value: 64 * 1024 };

/** Overhead of a header in a document besides its name and value, at most. It matters for many small headers. */
const headerOverheadBytes = 64;

/**
 * The key, headers and value that a dead letter stores: all of them or, of a large record, the head of key and value, and
 * the headers only if they are small. Sizes and hash then tell whether a record that is published again is the same. Of a
 * batch that cannot be decoded, the head is stored.
 */
export function contentOf({
  key,
  value,
  headers,
  undecodable,
}: KafkaRecord): Pick<DeadLetter, 'key' | 'headers' | 'value' | 'bytes' | 'truncated'> {
  const keyBytes = key?.length ?? 0;
  const valueBytes = value?.length ?? 0;
  const { count, bytes: headersBytes } = measureHeaders(headers);
  const bytes = keyBytes + headersBytes + valueBytes;
  const overheadBytes = count * headerOverheadBytes;
  if (bytes + overheadBytes <= wholeBytesMax && undecodable === undefined) {
    return { key: binary(key), headers: stored(headers), value: binary(value), bytes, truncated: null };
  }
  const sha256 = createHash('sha256')
    .update(value ?? '')
    .digest('hex');
  return {
    key: binary(key?.subarray(0, headBytes.key)),
    headers: headersBytes + overheadBytes <= headBytes.headers ? stored(headers) : [],
    value: binary(value?.subarray(0, headBytes.value)),
    bytes,
    truncated: { keyBytes, headersBytes, valueBytes, sha256 },
  };
}

const stored = (headers: KafkaRecord['headers']): DeadLetterHeader[] =>
  decodeHeaders(headers).map(({ name, value }) => ({ name, value: binary(value) }));

const binary = (bytes: Buffer | null | undefined): Binary | null => (bytes ? new Binary(bytes) : null);
