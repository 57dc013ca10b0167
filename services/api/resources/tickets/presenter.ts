import type { TicketDocument } from '../../../../shared/documents/ticket.ts';
import { isLapsed } from '../../../../shared/documents/retention.ts';
import { toSeconds } from '../timestamps.ts';
import type { TicketItem, TicketView } from './schema.ts';

type Shown = Pick<TicketDocument, 'own' | 'joined'>;

/** A ticket in a list. */
export const presentTicketItem = ({ own, joined }: Shown, now: Date): TicketItem => ({
  id: own.id,
  object: 'ticket',
  title: own.title,
  status: own.status,
  requester: presentRequester({ own, joined }),
  tags: joined.tags.map(({ id, name }) => ({ id, name })),
  topics: joined.topics.map(({ id, name }) => ({ id, name })),
  estimatedScore: own.estimatedScore,
  conversations: kept(joined, now).map(({ id, role }) => ({ id, role })),
  createdAt: toSeconds(own.createdAt),
  updatedAt: toSeconds(own.updatedAt),
});

/** A ticket retrieved, with its conversations in full. */
export const presentTicket = ({ own, joined }: Shown, now: Date): TicketView => ({
  ...presentTicketItem({ own, joined }, now),
  conversations: kept(joined, now).map(({ id, role, status, createdAt, updatedAt }) => ({
    id,
    object: 'conversation',
    ticketId: own.id,
    role,
    status,
    createdAt: toSeconds(createdAt),
    updatedAt: toSeconds(updatedAt),
  })),
});

/** The conversations that are not past their retention. */
const kept = ({ conversations }: Shown['joined'], now: Date) =>
  conversations.filter(({ keptUntil }) => !isLapsed(keptUntil, now));

function presentRequester({ own, joined: { requester } }: Shown): TicketItem['requester'] {
  const email = requester?.email;
  return {
    id: own.requesterId,
    name: requester?.name ?? null,
    email: email ? { email: email.email, verified: email.verified } : null,
  };
}
