import type { TicketDocument } from '../../../../shared/documents/ticket.ts';
import { isExpired } from '../../../../shared/documents/retention.ts';
import { toSeconds } from '../timestamps.ts';
import type { ConversationReference, TicketConversation, TicketItem, TicketView } from './schema.ts';

type Shown = Pick<TicketDocument, 'own' | 'joined'>;
/** What readers see of a ticket's conversation, whether its document embeds it or not. */
export type ShownConversation = Pick<
  TicketDocument['joined']['conversations'][number],
  'id' | 'role' | 'status' | 'createdAt' | 'updatedAt'
>;

/** A ticket in a list, with the conversations that its document embeds. */
export const presentTicketItem = ({ own, joined }: Shown, now: Date): TicketItem => ({
  id: own.id,
  object: 'ticket',
  title: own.title,
  status: own.status,
  requester: presentRequester({ own, joined }),
  tags: joined.tags.map(({ id, name }) => ({ id, name })),
  topics: joined.topics.map(({ id, name }) => ({ id, name })),
  estimatedScore: own.estimatedScore,
  conversations: unexpiredConversations(joined, now).map(presentReference),
  createdAt: toSeconds(own.createdAt),
  updatedAt: toSeconds(own.updatedAt),
});

/** A ticket retrieved, with the conversations that its document embeds in full. */
export const presentTicket = ({ own, joined }: Shown, now: Date): TicketView => ({
  ...presentTicketItem({ own, joined }, now),
  conversations: unexpiredConversations(joined, now).map(presentTicketConversation(own.id)),
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

function presentRequester({ own, joined: { requester } }: Shown): TicketItem['requester'] {
  const email = requester?.email;
  return {
    id: own.requesterId,
    name: requester?.name ?? null,
    email: email ? { email: email.email, verified: email.verified } : null,
  };
}
