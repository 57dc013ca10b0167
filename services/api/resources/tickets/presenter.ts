import { type TicketDocument, ticketUpdatedAt } from '../../../../shared/documents/ticket.ts';
import { shownConversations } from '../../../../shared/documents/visibility.ts';
import { toSeconds } from '../fields.ts';
import type { StateAndJoined } from '../find-by-id.ts';
import type { ConversationReference, TicketConversation, TicketItem, TicketResponse } from './schema.ts';

type Ticket = StateAndJoined<TicketDocument>;
/** The fields of a ticket's conversation that responses contain, whether the ticket's document embeds it or not. */
export type ConversationSummary = Pick<
  TicketDocument['joined']['conversations'][number],
  'id' | 'role' | 'status' | 'createdAt' | 'updatedAt'
>;

/** A ticket in a list, with references to the embedded conversations. */
export const presentTicketItem = ({ state, joined }: Ticket, now: Date): TicketItem => ({
  id: state.id,
  object: 'ticket',
  title: state.title,
  status: state.status,
  requester: presentRequester({ state, joined }),
  tags: joined.tags.map(({ id, name }) => ({ id, name })),
  topics: joined.topics.map(({ id, name }) => ({ id, name })),
  estimatedScore: state.estimatedScore ?? null,
  conversations: shownConversations(joined.conversations, now).map(presentReference),
  createdAt: toSeconds(state.createdAt),
  updatedAt: toSeconds(ticketUpdatedAt(state)),
});

/** A retrieved ticket, with the embedded conversations in full. */
export const presentTicket = ({ state, joined }: Ticket, now: Date): TicketResponse => ({
  ...presentTicketItem({ state, joined }, now),
  conversations: shownConversations(joined.conversations, now).map((conversation) =>
    presentTicketConversation(state.id, conversation),
  ),
});

export const presentReference = ({ id, role }: ConversationSummary): ConversationReference => ({ id, role });

export const presentTicketConversation = (
  ticketId: string,
  { id, role, status, createdAt, updatedAt }: ConversationSummary,
): TicketConversation => ({
  id,
  object: 'conversation',
  ticketId,
  role,
  status,
  createdAt: toSeconds(createdAt),
  updatedAt: toSeconds(updatedAt),
});

function presentRequester({ state, joined: { requester } }: Ticket): TicketItem['requester'] {
  const email = requester?.email;
  return {
    id: state.requesterId,
    name: requester?.name ?? null,
    email: email ? { email: email.email, verified: email.verified } : null,
  };
}
