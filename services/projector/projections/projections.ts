import type { Kind } from '../../../shared/documents/document.ts';
import { channel } from './channel.ts';
import { conversation } from './conversation.ts';
import { defineProjection, type Projection } from './define-projection.ts';
import { message } from './message.ts';
import { ticket } from './ticket.ts';

/** An entity without references: its document is its state alone. */
const plain = <K extends Kind>(kind: K): Projection<K> =>
  defineProjection(
    kind,
    () => ({}),
    () => ({}),
  );

/** How each kind is joined. */
export const projections: { [K in Kind]: Projection<K> } = {
  apiKey: plain('apiKey'),
  contact: plain('contact'),
  user: plain('user'),
  agent: plain('agent'),
  tag: plain('tag'),
  topic: plain('topic'),
  channel,
  ticket,
  conversation,
  message,
  qa: plain('qa'),
};
