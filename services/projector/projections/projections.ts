import { type Kind, kinds } from '../../../shared/documents/resources.ts';
import { channel } from './channel.ts';
import { conversation } from './conversation.ts';
import { defineProjection, type Projection } from './define-projection.ts';
import { message } from './message.ts';
import { ticket } from './ticket.ts';

/** The entities with references. */
const joined: { [K in Kind]?: Projection<K> } = { channel, ticket, conversation, message };

/** An entity without references: its document is only its state. */
const withoutReferences = <K extends Kind>(kind: K): Projection<K> =>
  defineProjection(
    kind,
    () => ({}),
    () => ({}),
  );

/** How each kind is joined. */
export const projections = Object.fromEntries(
  kinds.map((kind) => [kind, joined[kind] ?? withoutReferences(kind)]),
) as { [K in Kind]: Projection<K> };
