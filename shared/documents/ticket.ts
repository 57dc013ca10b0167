import { z } from 'zod';
import type { ConversationRole, ConversationStatus } from './conversation.ts';
import { refsIndex, tombstoneIndex, type Document, type Resource } from './document.ts';
import { anyId, instant, optional, prefixedId, text } from './fields.ts';
import { sortKey } from './instant.ts';

export const ticketStatuses = ['open', 'snoozed', 'resolved', 'assumed_resolved', 'closed'] as const;

export const ticketState = z.object({
  id: prefixedId('ti_'),
  title: text,
  status: z.enum(ticketStatuses),
  requesterId: prefixedId('con_'),
  tagIds: z.array(anyId),
  topicIds: z.array(anyId),
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
  /** The visible conversations (their channel is known), by creation, ties by id. */
  conversations: {
    id: string;
    role: ConversationRole;
    status: ConversationStatus;
    createdAt: Date;
    updatedAt: Date;
    /** When its retention passes, from when on it is not shown; null: never. */
    keptUntil: Date | null;
  }[];
};

export type TicketDocument = Document<Ticket, TicketJoined>;

/** Each list index ends in the other sort key too, so that a bound on it is checked without reading documents. */
export const ticketResource: Resource<Ticket> = {
  collection: 'tickets',
  indexes: [
    { name: 'created', key: { orgId: 1, byCreated: 1, byUpdated: 1 } },
    { name: 'updated', key: { orgId: 1, byUpdated: 1, byCreated: 1 } },
    { name: 'statusCreated', key: { orgId: 1, 'own.status': 1, byCreated: 1, byUpdated: 1 } },
    { name: 'statusUpdated', key: { orgId: 1, 'own.status': 1, byUpdated: 1, byCreated: 1 } },
    refsIndex,
    tombstoneIndex,
  ],
  // An update before the creation is filed at the creation: `byUpdated >= byCreated` always holds, and a
  // bound on one may prune a scan of the other.
  sortKeys: ({ id, createdAt, updatedAt }) => ({
    byCreated: sortKey(createdAt, id),
    byUpdated: sortKey(updatedAt < createdAt ? createdAt : updatedAt, id),
  }),
};
