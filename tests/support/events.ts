import type { Kind } from '../../shared/documents/document.ts';

/** An entity's change in the source system, before it is encoded. */
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

/**
 * Encodes an event in CloudEvents' structured or binary mode; a tombstone is a null value. The sample data has its own
 * encoder, because tests also encode what the source system rarely sends, such as a deletion with data.
 */
export function encode(event: Event, mode: 'structured' | 'binary'): Produced {
  if (event.op === 'tombstone') return { key: event.id, value: null, headers: {} };
  const attributes = {
    specversion: '1.0',
    id: `${event.id}-${event.version}-${event.time.getTime()}`,
    source: '/tests',
    type: `support.${event.kind}.${event.op}.v1`,
    subject: event.id,
    time: event.time.toISOString(),
    orgid: event.orgId,
    entityversion: event.version,
  };
  if (mode === 'structured') {
    const value = JSON.stringify({ ...attributes, ...(event.data ? { data: event.data } : {}) });
    return {
      key: event.id,
      value,
      headers: { 'content-type': 'application/cloudevents+json; charset=utf-8' },
    };
  }
  const headers = Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [`ce_${name}`, String(value)]),
  );
  return {
    key: event.id,
    value: event.data ? JSON.stringify(event.data) : null,
    headers: { ...headers, 'content-type': 'application/json' },
  };
}

/** The prefix of each kind's ids. */
export const idPrefixes: Record<Kind, string> = {
  apiKey: 'key_',
  contact: 'con_',
  user: 'user_',
  agent: 'agent_',
  tag: 'tag_',
  topic: 'topic_',
  channel: 'chan_',
  ticket: 'ti_',
  conversation: 'conv_',
  message: 'msg_',
  qa: 'qa_',
};
