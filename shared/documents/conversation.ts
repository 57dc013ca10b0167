import { z } from 'zod';
import type { ChannelType } from './channel.ts';
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

export const conversationRoles = ['primary', 'side'] as const;
/** The statuses that a served conversation may have. `archived` appears only on conversations embedded in a ticket. */
export const activeConversationStatuses = [
  'waiting_for_user',
  'needs_first_response',
  'needs_follow_up',
  'scheduled_ai_response',
  'assumed_resolved',
  'resolved',
  'spam',
  'paused',
  'investigating',
] as const;
export const conversationStatuses = [...activeConversationStatuses, 'archived'] as const;

export type ConversationRole = (typeof conversationRoles)[number];
export type ConversationStatus = (typeof conversationStatuses)[number];

const conversationState = z.object({
  id: prefixedId('conv_'),
  ticketId: refersTo('ticket', prefixedId('ti_')),
  role: z.enum(conversationRoles),
  title: longText,
  status: z.enum(conversationStatuses),
  supportLevel: z.enum(['ai', 'human']),
  channelId: refersTo('channel', anyId),
  contactId: refersTo('contact', prefixedId('con_')),
  assignedUserId: optional(refersTo('user', prefixedId('user_'))),
  topicIds: listOf(refersTo('topic', anyId)),
  tagIds: listOf(refersTo('tag', anyId)),
  urgencyScore: optional(z.int().min(1).max(3)),
  createdAt: instant,
  updatedAt: instant,
  waitingSince: optional(instant),
  firstHumanReplyAt: optional(instant),
  resolvedAt: optional(instant),
});

const example: z.input<typeof conversationState> = {
  id: 'conv_1',
  ticketId: 'ti_1',
  role: 'primary',
  title: 'Broken',
  status: 'needs_first_response',
  supportLevel: 'ai',
  channelId: 'chan_1',
  contactId: 'con_1',
  topicIds: [],
  tagIds: [],
  createdAt: exampleInstant,
  updatedAt: exampleInstant,
};

type Conversation = z.output<typeof conversationState>;

export type ConversationJoined = {
  /** Null while the channel is missing. The API does not serve the conversation then. */
  channel: { id: string; name: string; type: ChannelType; dataRetentionDays: number | null } | null;
  contact: { name: string | null; email: string | null } | null;
  assignedUser: { id: string; name: string | null; email: string } | null;
  topics: { id: string; name: string; color: string | null }[];
  tags: { id: string; name: string }[];
};

export type ConversationDocument = Document<Conversation, ConversationJoined>;

export const conversation = {
  topic: 'conversations',
  idPrefix: 'conv_',
  state: conversationState,
  example,
  collection: 'conversations',
  indexes: [
    { name: 'ticket', key: { 'state.ticketId': 1, orgId: 1, byCreated: 1 } },
    { name: 'channel', key: { 'state.channelId': 1, byCreated: 1 } },
    { name: 'pending', key: { pending: 1 }, partialFilterExpression: { pending: true } },
    refsIndex,
    tombstoneIndex,
  ],
  sortKeys: ({ id, createdAt }: Conversation) => ({ byCreated: sortKey(createdAt, id) }),
} as const satisfies Entity<Conversation>;
