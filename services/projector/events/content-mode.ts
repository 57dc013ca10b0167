import type { Rejection } from '../../../shared/control/rejections.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { decodeBase64, decodeJson } from './bytes.ts';
import { type Headers, isStructured, readHeaders } from './headers.ts';

export const rejected = (reason: Rejection['reason'], detail: string) => ({ rejected: { reason, detail } });

/** The unvalidated state of an event; undefined if the event has no data. */
export type Data = { value: unknown } | { rejected: Rejection };

/** An event with its attributes as received. Its data is decoded only on demand. */
export type RawEvent = { attributes: Record<string, unknown>; data: () => Data };

/** The event of a record, `'tombstone'` for a Kafka tombstone, or the reason for a rejection. */
type Content = RawEvent | 'tombstone' | { rejected: Rejection };

/**
 * Headers of structured mode. Producers repeat them in every record, so the last ones are decoded once. It is the only
 * state of this folder, and no result depends on it.
 */
let structuredHeaders: KafkaRecord['headers'] = Buffer.alloc(0);

/**
 * Decodes the event of a record by the Kafka binding of CloudEvents, as the SDKs write it: structured mode if the
 * content type says so; otherwise binary mode if there is a header `ce_specversion`; otherwise structured mode if the
 * value says so. A null value is a deletion if the headers say so, otherwise a tombstone.
 */
export function readContent({ value, headers: given, undecodable }: KafkaRecord): Content {
  if (undecodable !== undefined)
    return rejected('undecodable', 'the batch of the record cannot be decompressed or decoded');
  if (value !== null && given.equals(structuredHeaders)) return structured(value);
  const headers = readHeaders(given);
  for (const [name, text] of headers) {
    if (text === null) return rejected('bad_envelope', `header ${name}: must be UTF-8, and one value only`);
  }
  if (value === null) return announcesDeletion(headers) ? binary(headers, null) : 'tombstone';
  if (isStructured(headers)) {
    structuredHeaders = Buffer.from(given);
    return structured(value);
  }
  if (headers.has('ce_specversion')) return binary(headers, value);
  const content = structured(value);
  if ('attributes' in content && content.attributes.specversion !== undefined) return content;
  const { reason, detail } =
    'rejected' in content
      ? content.rejected
      : { reason: 'bad_envelope' as const, detail: 'specversion: is missing' };
  return rejected(reason, `${detail}; there is no header ce_specversion`);
}

/** A deletion of another entity or schema version counts too: the rules for the envelope reject it later. */
const announcesDeletion = (headers: Headers) =>
  /^support\.[^.]*\.deleted\./.test(headers.get('ce_type') ?? '');

function structured(value: Buffer): RawEvent | { rejected: Rejection } {
  const json = decodeJson(value);
  if ('issue' in json) return rejected(json.reason, `value: ${json.issue}`);
  const event = json.value;
  if (typeof event !== 'object' || event === null || Array.isArray(event)) {
    return rejected('bad_envelope', 'value: must be an object with the attributes of CloudEvents');
  }
  return { attributes: event as Record<string, unknown>, data: () => structuredData(event) };
}

/** CloudEvents allows the bytes of `data` in base64 instead; an event may have only one of the two. */
function structuredData(event: { data?: unknown; data_base64?: unknown }): Data {
  const base64 = event.data_base64 ?? null;
  if (base64 === null) return { value: event.data };
  if ((event.data ?? null) !== null) return rejected('bad_envelope', 'data_base64: excludes data');
  const bytes = typeof base64 === 'string' ? decodeBase64(base64) : null;
  return bytes ? dataIn(bytes) : rejected('bad_envelope', 'data_base64: must be base64');
}

function binary(headers: Headers, value: Buffer | null): Content {
  const attributes: Record<string, unknown> = {};
  for (const [name, text] of headers) {
    if (name.startsWith('ce_')) attributes[name.slice('ce_'.length)] = text;
  }
  return { attributes, data: () => (value ? dataIn(value) : { value: undefined }) };
}

function dataIn(bytes: Buffer): Data {
  const json = decodeJson(bytes);
  return 'issue' in json ? rejected(json.reason, `data: ${json.issue}`) : json;
}
