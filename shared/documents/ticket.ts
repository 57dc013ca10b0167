import { z } from 'zod';
import type { ConversationRole, ConversationStatus } from './conversation.ts';
import { notRefreshedIndex, refsIndex, tombstoneIndex, type Document, type Resource } from './document.ts';
import { anyId, instant, listOf, longText, optional, prefixedId } from './fields.ts';
import { sortKey } from './instant.ts';

export const ticketStatuses = ['open', 'snoozed', 'resolved', 'assumed_resolved', 'closed'] as const;

export const ticketState = z.object({
  id: prefixedId('ti_'),
  title: longText,
  status: z.enum(ticketStatuses),
  requesterId: prefixedId('con_'),
  tagIds: listOf(anyId),
  topicIds: listOf(anyId),
  estimatedScore: optional(z.int().min(1).max(5)),
  createdAt: instant,
  updatedAt: instant,
});

export type Ticket = z.output<typeof ticketState>;

export type TicketJoined = {
  /** Null while the contact is missing. */
  requester: { name: string | null; email: { email: string; verified: boolean } | null } | null;
  tags: { id: string; name: string }[];
  topics: { id: string; name: string }[];
  /**
   * The visible ones (their channel is known) of the ticket's first `embeddedConversationsMax` conversations, by
   * creation, ties by id.
   */
  conversations: {
    id: string;
    role: ConversationRole;
    status: ConversationStatus;
    createdAt: Date;
    updatedAt: Date;
    /** When its retention passes: from that instant on it is not shown; null: never. */
    retainUntil: Date | null;
  }[];
  /**
   * Null where the ticket has fewer than `embeddedConversationsMax` conversations; else the sort key of the last one
   * that was looked at. Any others stand behind it in the index `ticket` of the conversations.
   */
  moreAfter: string | null;
};

/** A ticket document embeds no more conversations, so that the cost of an event does not grow with their number. */
export const embeddedConversationsMax = 200;

export type TicketDocument = Document<Ticket, TicketJoined>;

/** Each list index ends in the other sort key too, so that a bound on it is checked without reading documents. */
export const ticketResource: Resource<Ticket> = {
  collection: 'tickets',
  indexes: [
    { name: 'created', key: { orgId: 1, byCreated: 1, byUpdated: 1 } },
    { name: 'updated', key: { orgId: 1, byUpdated: 1, byCreated: 1 } },
    { name: 'statusCreated', key: { orgId: 1, 'state.status': 1, byCreated: 1, byUpdated: 1 } },
    { name: 'statusUpdated', key: { orgId: 1, 'state.status': 1, byUpdated: 1, byCreated: 1 } },
    refsIndex,
    notRefreshedIndex,
    tombstoneIndex,
  ],
  // An update before the creation is filed at the creation: `byUpdated >= byCreated` always holds, and a
  // bound on one may prune a scan of the other.
  sortKeys: ({ id, createdAt, updatedAt }) => ({
    byCreated: sortKey(createdAt, id),
    byUpdated: sortKey(updatedAt < createdAt ? createdAt : updatedAt, id),
  }),
};
