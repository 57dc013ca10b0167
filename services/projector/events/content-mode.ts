import { decodeBase64, decodeJson } from './bytes.ts';
import type { KafkaRecord, Rejection } from './change.ts';
import { mediaType, readHeaders, type Headers } from './headers.ts';

const rejected = (reason: Rejection['reason'], detail: string) => ({ rejected: { reason, detail } });

/** The state that an event carries, still unchecked; undefined where it carries none. */
type Data = { value: unknown } | { rejected: Rejection };

/** An event taken out of its content mode: attributes as they came, and the data, read only when asked for. */
export type RawEvent = { attributes: Record<string, unknown>; data: () => Data };

/** A record's event, `'tombstone'` for Kafka's own, or why it is neither. */
export type Content = RawEvent | 'tombstone' | { rejected: Rejection };

/**
 * Takes the event out of a record, by CloudEvents' Kafka binding: structured where the content type says so
 * or is absent, else binary. A null value is a deletion under headers that announce one, else a tombstone.
 */
export function readContent({ value, headers: given }: KafkaRecord): Content {
  const headers = readHeaders(given);
  for (const [name, text] of headers) {
    if (text === null) return rejected('bad_envelope', `header ${name}: must be UTF-8, and one value only`);
  }
  if (value === null) return announcesDeletion(headers) ? binary(headers, null) : 'tombstone';
  const type = mediaType(headers);
  return type === null || type === 'application/cloudevents+json'
    ? structured(value)
    : binary(headers, value);
}

/** A deletion of another entity or schema version counts too: it is for the envelope's rules to turn it away. */
const announcesDeletion = (headers: Headers) =>
  /^support\.[^.]*\.deleted\./.test(headers.get('ce_type') ?? '');

function structured(value: Buffer): Content {
  const json = decodeJson(value);
  if ('fault' in json) return rejected('not_json', `value: ${json.fault}`);
  const event = json.value;
  if (typeof event !== 'object' || event === null || Array.isArray(event)) {
    return rejected('bad_envelope', 'value: must be an object with the attributes of CloudEvents');
  }
  return { attributes: event as Record<string, unknown>, data: () => structuredData(event) };
}

/** CloudEvents lets a publisher give the bytes of `data` in base64 instead; one of both, never the two. */
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
  if (Object.keys(attributes).length === 0) {
    return rejected(
      'bad_envelope',
      'headers: a content-type other than application/cloudevents+json needs ce_ headers',
    );
  }
  return { attributes, data: () => (value ? dataIn(value) : { value: undefined }) };
}

function dataIn(bytes: Buffer): Data {
  const json = decodeJson(bytes);
  return 'fault' in json ? rejected('not_json', `data: ${json.fault}`) : json;
}
