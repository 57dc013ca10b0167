import { z } from 'zod';
import type { ConversationRole, ConversationStatus } from './conversation.ts';
import { type Document, type Entity, refsIndex, tombstoneIndex } from './entity.ts';
import {
  anyId,
  exampleInstant,
  instant,
  listOf,
  longText,
  optional,
  prefixedId,
  refersTo,
} from './fields.ts';
import { sortKey } from './instant.ts';

export const ticketStatuses = ['open', 'snoozed', 'resolved', 'assumed_resolved', 'closed'] as const;

const ticketState = z.object({
  id: prefixedId('ti_'),
  title: longText,
  status: z.enum(ticketStatuses),
  requesterId: refersTo('contact', prefixedId('con_')),
  tagIds: listOf(refersTo('tag', anyId)),
  topicIds: listOf(refersTo('topic', anyId)),
  estimatedScore: optional(z.int().min(1).max(5)),
  createdAt: instant,
  updatedAt: instant,
});

const example: z.input<typeof ticketState> = {
  id: 'ti_1',
  title: 'Broken',
  status: 'open',
  requesterId: 'con_1',
  tagIds: [],
  topicIds: [],
  createdAt: exampleInstant,
  updatedAt: exampleInstant,
};

type Ticket = z.output<typeof ticketState>;

export type TicketJoined = {
  /** Null while the contact is missing. */
  requester: { name: string | null; email: { email: string; verified: boolean } | null } | null;
  tags: { id: string; name: string }[];
  topics: { id: string; name: string }[];
  /**
   * The visible conversations (their channel is known) among the ticket's first `embeddedConversationsMax`
   * conversations, ordered by creation, then by id.
   */
  conversations: {
    id: string;
    role: ConversationRole;
    status: ConversationStatus;
    createdAt: Date;
    updatedAt: Date;
    /** The API stops showing the conversation at this instant; null if it never expires. */
    retainUntil: Date | null;
  }[];
  /**
   * The sort key of the last conversation that was considered. The ticket's further conversations come after it in
   * the index `ticket` of the conversations. Null if the ticket has fewer than `embeddedConversationsMax`.
   */
  moreAfter: string | null;
};

/** A ticket embeds at most this many conversations. Otherwise the cost of an event would grow with their number. */
export const embeddedConversationsMax = 200;

export type TicketDocument = Document<Ticket, TicketJoined>;

/**
 * When the ticket was last updated, as it is listed and shown. An update time before the creation counts as the
 * creation time.
 */
export const ticketUpdatedAt = ({ createdAt, updatedAt }: Pick<Ticket, 'createdAt' | 'updatedAt'>): Date =>
  updatedAt < createdAt ? createdAt : updatedAt;

/**
 * Each list index ends in the other sort key, so MongoDB checks a bound on that key without reading documents.
 */
export const ticket = {
  topic: 'tickets',
  idPrefix: 'ti_',
  state: ticketState,
  example,
  collection: 'tickets',
  indexes: [
    { name: 'created', key: { orgId: 1, byCreated: 1, byUpdated: 1 } },
    { name: 'updated', key: { orgId: 1, byUpdated: 1, byCreated: 1 } },
    { name: 'statusCreated', key: { orgId: 1, 'state.status': 1, byCreated: 1, byUpdated: 1 } },
    { name: 'statusUpdated', key: { orgId: 1, 'state.status': 1, byUpdated: 1, byCreated: 1 } },
    refsIndex,
    tombstoneIndex,
  ],
  // `byUpdated` is never less than `byCreated`, so a bound on one key may shorten a scan of the other.
  sortKeys: ({ id, createdAt, updatedAt }: Ticket) => ({
    byCreated: sortKey(createdAt, id),
    byUpdated: sortKey(ticketUpdatedAt({ createdAt, updatedAt }), id),
  }),
} as const satisfies Entity<Ticket>;
