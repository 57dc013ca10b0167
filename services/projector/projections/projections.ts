import type { Kind } from '../../../shared/documents/document.ts';
import { channel } from './channel.ts';
import { conversation } from './conversation.ts';
import { defineProjection, type Projection } from './define-projection.ts';
import { message } from './message.ts';
import { ticket } from './ticket.ts';

/** An entity that refers to nothing: its document is its own state. */
const plain = (kind: Kind): Projection =>
  defineProjection(
    kind,
    () => ({}),
    () => ({}),
  );

/** How each kind is joined. An entity not declared in a file of its own is kept as it is. */
export const projections: Record<Kind, Projection> = {
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
