import { decodeText } from './bytes.ts';
import type { KafkaRecord } from './change.ts';

/** What a header says; null where it is not UTF-8 or is given more than once with different values. */
export type Headers = Map<string, string | null>;

/** The attributes of CloudEvents that the projector reads. */
const attributes = ['specversion', 'id', 'source', 'type', 'subject', 'time', 'orgid', 'entityversion'];
const wanted = new Set(['content-type', ...attributes.map((name) => `ce_${name}`)]);

/**
 * The content type and the attributes among a record's headers, by lower-case name. Others are
 * not looked at. Kafka allows a name several times and a null value: repeats that agree count once, nulls not
 * at all.
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

/** The media type of a content-type header, in lower case, without its parameters; null where there is none. */
export function mediaType(headers: Headers): string | null {
  const [type = ''] = (headers.get('content-type') ?? '').split(';');
  return type.trim().toLowerCase() || null;
}
