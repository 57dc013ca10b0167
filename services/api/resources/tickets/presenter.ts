import type { TicketDocument } from '../../../../shared/documents/ticket.ts';
import { isExpired } from '../../../../shared/documents/retention.ts';
import { toSeconds } from '../timestamps.ts';
import type { ConversationReference, TicketConversation, TicketItem, TicketView } from './schema.ts';

type Shown = Pick<TicketDocument, 'state' | 'joined'>;
/** What readers see of a ticket's conversation, whether its document embeds it or not. */
export type ShownConversation = Pick<
  TicketDocument['joined']['conversations'][number],
  'id' | 'role' | 'status' | 'createdAt' | 'updatedAt'
>;

/** A ticket in a list, with the conversations that its document embeds. */
export const presentTicketItem = ({ state, joined }: Shown, now: Date): TicketItem => ({
  id: state.id,
  object: 'ticket',
  title: state.title,
  status: state.status,
  requester: presentRequester({ state, joined }),
  tags: joined.tags.map(({ id, name }) => ({ id, name })),
  topics: joined.topics.map(({ id, name }) => ({ id, name })),
  estimatedScore: state.estimatedScore,
  conversations: unexpiredConversations(joined, now).map(presentReference),
  createdAt: toSeconds(state.createdAt),
  updatedAt: toSeconds(state.updatedAt),
});

/** A ticket retrieved, with the conversations that its document embeds in full. */
export const presentTicket = ({ state, joined }: Shown, now: Date): TicketView => ({
  ...presentTicketItem({ state, joined }, now),
  conversations: unexpiredConversations(joined, now).map(presentTicketConversation(state.id)),
});

export const presentReference = ({ id, role }: ShownConversation): ConversationReference => ({ id, role });

export const presentTicketConversation =
  (ticketId: string) =>
  ({ id, role, status, createdAt, updatedAt }: ShownConversation): TicketConversation => ({
    id,
    object: 'conversation',
    ticketId,
    role,
    status,
    createdAt: toSeconds(createdAt),
    updatedAt: toSeconds(updatedAt),
  });

/** The embedded conversations whose retention has not passed. */
export const unexpiredConversations = ({ conversations }: Shown['joined'], now: Date): ShownConversation[] =>
  conversations.filter(({ retainUntil }) => !isExpired(retainUntil, now));

function presentRequester({ state, joined: { requester } }: Shown): TicketItem['requester'] {
  const email = requester?.email;
  return {
    id: state.requesterId,
    name: requester?.name ?? null,
    email: email ? { email: email.email, verified: email.verified } : null,
  };
}
