import type { z } from 'zod';
import type { Kind, states } from '../../shared/documents/resources.ts';

/** The `data` of an event, as Kafka carries it. */
export type SourceState<K extends Kind = Kind> = z.input<(typeof states)[K]>;

/** A change of an entity in the source system, before it is encoded as a record. */
export type Event = {
  kind: Kind;
  id: string;
  orgId: string;
  version: number;
  op: 'created' | 'updated' | 'deleted' | 'tombstone';
  data?: Record<string, unknown>;
  time: Date;
};

export type Produced = { key: string; value: string | null; headers: Record<string, string> };

/** A record for the topic of its kind. */
export type SampleRecord = Produced & { kind: Kind };

const source = 'https://product.example.com/support';

/** Encodes an event in structured or binary mode of CloudEvents' Kafka binding. A tombstone is a null value. */
export function encode(event: Event, mode: 'structured' | 'binary'): Produced {
  const { kind, id, orgId, version, op, time, data } = event;
  if (op === 'tombstone') return { key: id, value: null, headers: {} };
  const attributes = {
    specversion: '1.0',
    id: `${id}:${version}`,
    source,
    type: `support.${kind}.${op}.v1`,
    subject: id,
    time: time.toISOString(),
    orgid: orgId,
    entityversion: version,
  };
  if (mode === 'structured') {
    const value = JSON.stringify({
      ...attributes,
      ...(data && { datacontenttype: 'application/json', data }),
    });
    return { key: id, value, headers: { 'content-type': 'application/cloudevents+json; charset=UTF-8' } };
  }
  const headers = Object.entries(attributes).map(([name, value]) => [`ce_${name}`, String(value)] as const);
  return {
    key: id,
    value: data ? JSON.stringify(data) : null,
    headers: { 'content-type': 'application/json', ...Object.fromEntries(headers) },
  };
}
