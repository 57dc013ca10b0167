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
export const rawHeaders = (headers: Headers): Buffer =>
  encodeHeaders(
    Object.entries(headers).flatMap(([name, content]) =>
      [content].flat().map((value) => ({ name, value: value === null ? null : Buffer.from(value) })),
    ),
  );

export const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));
export const record = (value: Buffer | null, headers: Headers = {}, key = 'tag_1'): KafkaRecord => ({
  key: Buffer.from(key),
  value,
  headers: rawHeaders(headers),
  position,
});
export const structured = (changes: Given = {}, contentType?: string) =>
  record(bytes({ ...attributes, data: tag, ...changes }), contentType ? { 'content-type': contentType } : {});
/** The attributes of an event as headers, for the binary content mode. */
export const ce = (changes: Given = {}): Headers =>
  Object.fromEntries(
    Object.entries({ ...attributes, ...changes })
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [`ce_${name}`, Buffer.from(String(value))]),
  );
export const binary = (value: Buffer | null, changes: Given = {}, headers: Headers = {}) =>
  record(value, { 'content-type': 'application/json', ...ce(changes), ...headers });
export const tagBytes = () => bytes(tag);

export const withUpperCaseNames = (headers: Headers): Headers =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));

/** A record with the state of an entity of that kind. */
export const withData = (kind: Kind, data: { id: string } & Record<string, unknown>) =>
  record(bytes({ ...attributes, type: `support.${kind}.created.v1`, subject: data.id, data }), {}, data.id);
