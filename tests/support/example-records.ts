import { encodeHeaders } from '../../services/projector/events/headers.ts';
import { examples, type Kind } from '../../shared/documents/resources.ts';
import type { KafkaRecord } from '../../shared/kafka/record-format.ts';

/** Example records for the tests of `parse`: a tag in either content mode. */

export const position = { partition: 2, offset: 7, timestampMs: Date.UTC(2026, 0, 2) };
export const { tag } = examples;
export const attributes = {
  specversion: '1.0',
  id: 'evt_1',
  source: '/support/product',
  type: 'support.tag.updated.v1',
  subject: 'tag_1',
  time: '2026-01-01T01:00:00.5+01:00',
  orgid: 'org_1',
  entityversion: 3,
};
/** Attributes or data of an event that replace the attributes of the example, or add to them. */
export type Given = Record<string, unknown>;
/** Headers by name; a list of values for a name that is repeated. */
export type Headers = Record<string, Buffer | string | null | (Buffer | string | null)[]>;

/** Headers as a record has them. */
export function rawHeaders(headers: Headers): Buffer {
  const encoded: { name: string; value: Buffer | null }[] = [];
  for (const [name, content] of Object.entries(headers)) {
    const values = Array.isArray(content) ? content : [content];
    for (const value of values) encoded.push({ name, value: value === null ? null : Buffer.from(value) });
  }
  return encodeHeaders(encoded);
}

export const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));
export const record = (value: Buffer | null, headers: Headers = {}, key = 'tag_1'): KafkaRecord => ({
  key: Buffer.from(key),
  value,
  headers: rawHeaders(headers),
  position,
});
export function structured(changes: Given = {}, contentType?: string): KafkaRecord {
  const event = { ...attributes, data: tag, ...changes };
  const headers: Headers = contentType === undefined ? {} : { 'content-type': contentType };
  return record(bytes(event), headers);
}
/** The attributes of an event as headers, for the binary content mode. */
export function ce(changes: Given = {}): Headers {
  const headers: Headers = {};
  for (const [name, value] of Object.entries({ ...attributes, ...changes })) {
    if (value !== undefined) headers[`ce_${name}`] = Buffer.from(String(value));
  }
  return headers;
}
export const binary = (value: Buffer | null, changes: Given = {}, headers: Headers = {}) =>
  record(value, { 'content-type': 'application/json', ...ce(changes), ...headers });
export const tagBytes = () => bytes(tag);

export function withUpperCaseNames(headers: Headers): Headers {
  const renamed: Headers = {};
  for (const [name, value] of Object.entries(headers)) renamed[name.toUpperCase()] = value;
  return renamed;
}

/** A record with the state of an entity of that kind. */
export function withData(kind: Kind, data: { id: string } & Record<string, unknown>): KafkaRecord {
  const event = { ...attributes, type: `support.${kind}.created.v1`, subject: data.id, data };
  return record(bytes(event), {}, data.id);
}
