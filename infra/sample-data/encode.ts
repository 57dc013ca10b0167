import type { z } from 'zod';
import type { Kind } from '../../shared/documents/document.ts';
import type { states } from '../../shared/documents/resources.ts';

/** The `data` of an event, as Kafka carries it. */
export type SourceState<K extends Kind = Kind> = z.input<(typeof states)[K]>;

/** A change of an entity, before it is encoded as a record. `state` is null for a deletion. */
export type SampleEvent = {
  kind: Kind;
  id: string;
  orgId: string;
  version: number;
  verb: 'created' | 'updated' | 'deleted';
  time: Date;
  state: unknown;
};

/** A record for the topic of its kind. */
export type SampleRecord = {
  kind: Kind;
  key: string;
  value: string | null;
  headers: Record<string, string>;
};

/** The two content modes of CloudEvents' Kafka binding. */
export type ContentMode = 'structured' | 'binary';

const source = 'https://product.example.com/support';

/** Encodes an event as a record, in the given content mode. */
export function encode(event: SampleEvent, mode: ContentMode): SampleRecord {
  const { kind, id, orgId, version, verb, time, state } = event;
  const attributes = {
    specversion: '1.0',
    id: `${id}:${version}`,
    source,
    type: `support.${kind}.${verb}.v1`,
    subject: id,
    time: time.toISOString(),
    orgid: orgId,
  };
  if (mode === 'structured') {
    const data = verb === 'deleted' ? {} : { datacontenttype: 'application/json', data: state };
    const value = JSON.stringify({ ...attributes, entityversion: version, ...data });
    return {
      kind,
      key: id,
      value,
      headers: { 'content-type': 'application/cloudevents+json; charset=UTF-8' },
    };
  }
  const headers = Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [`ce_${name}`, value]),
  );
  return {
    kind,
    key: id,
    value: verb === 'deleted' ? null : JSON.stringify(state),
    headers: { 'content-type': 'application/json', ...headers, ce_entityversion: String(version) },
  };
}

/** Kafka's tombstone on an entity's key. */
export const tombstone = (kind: Kind, key: string): SampleRecord => ({ kind, key, value: null, headers: {} });
