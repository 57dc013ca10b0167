import { decodeText } from './bytes.ts';
import type { KafkaRecord } from './change.ts';

/** The headers by name. A value is null if it is not UTF-8, or if the header occurs with different values. */
export type Headers = Map<string, string | null>;

/** The attributes of CloudEvents that the projector reads. */
const attributes = ['specversion', 'id', 'source', 'type', 'subject', 'time', 'orgid', 'entityversion'];
const wanted = new Set(['content-type', ...attributes.map((name) => `ce_${name}`)]);

/**
 * The content type and the CloudEvents attributes of a record's headers, by lower-case name. Kafka allows repeated
 * names and null values: repeats with equal values count once, null values are ignored.
 */
export function readHeaders(headers: KafkaRecord['headers']): Headers {
  const found: Headers = new Map();
  for (const [given, content] of Object.entries(headers)) {
    const name = given.toLowerCase();
    if (!wanted.has(name)) continue;
    for (const value of Array.isArray(content) ? content : [content]) {
      const text =
        typeof value === 'string' ? value : value instanceof Uint8Array ? decodeText(value) : undefined;
      if (text === undefined) continue;
      found.set(name, found.has(name) && found.get(name) !== text ? null : text);
    }
  }
  return found;
}

/** The media type of the content-type header, in lower case and without parameters; null if absent. */
export function mediaType(headers: Headers): string | null {
  const [type = ''] = (headers.get('content-type') ?? '').split(';');
  return type.trim().toLowerCase() || null;
}
