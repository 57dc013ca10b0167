import { createHash } from 'node:crypto';
import { Binary } from 'mongodb';
import type { KafkaRecord } from '../events/change.ts';
import type { DeadLetter, DeadLetterHeader } from './collection.ts';

/** A document of the store holds 16 MB; of a larger record than this, only the head is kept. */
const wholeBytesMax = 8 * 1024 * 1024;
const headBytes = { key: 1024, headers: 64 * 1024, value: 64 * 1024 };

/** What a header takes in a document besides its name and value, at most: many small ones take most of one. */
const headerOverheadBytes = 64;

/**
 * The key, headers and value that a letter keeps of a record: all, or the head of key and value and no headers
 * but few. Lengths and hash then tell whether a record that is published again is the same.
 */
export function contentOf(
  { key, value }: KafkaRecord,
  headers: DeadLetterHeader[],
): Pick<DeadLetter, 'key' | 'headers' | 'value' | 'bytes' | 'truncated'> {
  const keyBytes = key?.length ?? 0;
  const valueBytes = value?.length ?? 0;
  const headersBytes = headers.reduce(
    (sum, header) => sum + Buffer.byteLength(header.name) + (header.value?.position ?? 0),
    0,
  );
  const bytes = keyBytes + headersBytes + valueBytes;
  const overheadBytes = headers.length * headerOverheadBytes;
  if (bytes + overheadBytes <= wholeBytesMax) {
    return { key: binary(key), headers, value: binary(value), bytes, truncated: null };
  }
  const sha256 = createHash('sha256')
    .update(value ?? '')
    .digest('hex');
  return {
    key: binary(key?.subarray(0, headBytes.key)),
    headers: headersBytes + overheadBytes <= headBytes.headers ? headers : [],
    value: binary(value?.subarray(0, headBytes.value)),
    bytes,
    truncated: { keyBytes, headersBytes, valueBytes, sha256 },
  };
}

const binary = (bytes: Buffer | null | undefined): Binary | null => (bytes ? new Binary(bytes) : null);
