import type { Rejection } from '../../../shared/control/rejections.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { decodeBase64, decodeJson } from './bytes.ts';
import { type Headers, isStructured, readHeaders } from './headers.ts';

export const rejected = (reason: Rejection['reason'], detail: string) => ({ rejected: { reason, detail } });

/** The data of an event, not validated yet; the value is undefined if the event has no data. */
export type Data = { value: unknown } | { rejected: Rejection };

/** An event with its attributes as received. `data` decodes the data on demand. */
export type RawEvent = { attributes: Record<string, unknown>; data: () => Data };

/** The event of a record, `'tombstone'` for a Kafka tombstone, or the reason for a rejection. */
type Content = RawEvent | 'tombstone' | { rejected: Rejection };

/**
 * The headers of the last record in structured mode. Producers repeat them in every record, so equal headers are not
 * decoded again. No result depends on this variable, the only state of the folder.
 */
let structuredHeaders: KafkaRecord['headers'] = Buffer.alloc(0);

/**
 * Decodes the event of a record by the Kafka binding of CloudEvents, as the SDKs write it: structured mode if the
 * content type says so; otherwise binary mode if there is a `ce_specversion` header; otherwise structured mode if the
 * value says so. A null value is a deletion if the headers say so, otherwise a tombstone.
 */
export function readContent({ value, headers: headerBytes, undecodable }: KafkaRecord): Content {
  if (undecodable !== undefined)
    return rejected('undecodable', 'the batch of the record cannot be decompressed or decoded');
  if (value !== null && headerBytes.equals(structuredHeaders)) return readStructured(value);
  const headers = readHeaders(headerBytes);
  const badHeader = nameOfBadHeader(headers);
  if (badHeader !== null)
    return rejected('bad_envelope', `header ${badHeader}: must be UTF-8, and one value only`);
  if (value === null) return announcesDeletion(headers) ? readBinary(headers, null) : 'tombstone';
  if (isStructured(headers)) {
    structuredHeaders = Buffer.from(headerBytes);
    return readStructured(value);
  }
  if (headers.has('ce_specversion')) return readBinary(headers, value);
  return readUndeclared(value);
}

function nameOfBadHeader(headers: Headers): string | null {
  for (const [name, text] of headers) {
    if (text === null) return name;
  }
  return null;
}

/** Reads a value of which nothing declares the mode. Only a value with a `specversion` is an event. */
function readUndeclared(value: Buffer): RawEvent | { rejected: Rejection } {
  const content = readStructured(value);
  if ('rejected' in content) return rejectedWithoutMode(content.rejected);
  if (content.attributes.specversion !== undefined) return content;
  return rejectedWithoutMode({ reason: 'bad_envelope', detail: 'specversion: is missing' });
}

const rejectedWithoutMode = ({ reason, detail }: Rejection) =>
  rejected(reason, `${detail}; there is no header ce_specversion`);

/**
 * Whether the type is that of a deletion, such as `support.ticket.deleted.v1`. Accepts any kind and schema version,
 * because the rules for the envelope reject a wrong one later.
 */
const announcesDeletion = (headers: Headers) =>
  /^support\.[^.]*\.deleted\./.test(headers.get('ce_type') ?? '');

function readStructured(value: Buffer): RawEvent | { rejected: Rejection } {
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
  return bytes ? parseData(bytes) : rejected('bad_envelope', 'data_base64: must be base64');
}

function readBinary(headers: Headers, value: Buffer | null): Content {
  const attributes: Record<string, unknown> = {};
  for (const [name, text] of headers) {
    if (name.startsWith('ce_')) attributes[name.slice('ce_'.length)] = text;
  }
  return { attributes, data: () => (value ? parseData(value) : { value: undefined }) };
}

function parseData(bytes: Buffer): Data {
  const json = decodeJson(bytes);
  return 'issue' in json ? rejected(json.reason, `data: ${json.issue}`) : json;
}
