import { z } from 'zod';
import type { ChannelType } from './channel.ts';
import { refsIndex, tombstoneIndex, type Document, type Resource } from './document.ts';
import { anyId, instant, optional, prefixedId, text } from './fields.ts';

export const conversationRoles = ['primary', 'side'] as const;
/** What a retrieved conversation may show; `archived` appears on conversations embedded in a ticket only. */
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

export const conversationState = z.object({
  id: prefixedId('conv_'),
  ticketId: prefixedId('ti_'),
  role: z.enum(conversationRoles),
  title: text,
  status: z.enum(conversationStatuses),
  supportLevel: z.enum(['ai', 'human']),
  channelId: anyId,
  contactId: prefixedId('con_'),
  assignedUserId: optional(prefixedId('user_')),
  topicIds: z.array(anyId),
  tagIds: z.array(anyId),
  urgencyScore: optional(z.int().min(1).max(3)),
  createdAt: instant,
  updatedAt: instant,
  waitingSince: optional(instant),
  firstHumanReplyAt: optional(instant),
  resolvedAt: optional(instant),
});

export type Conversation = z.output<typeof conversationState>;

export type ConversationJoined = {
  /** Null while the channel is missing; the conversation is then not visible. */
  channel: { id: string; name: string; type: ChannelType; dataRetentionDays: number | null } | null;
  contact: { name: string | null; email: string | null } | null;
  assignedUser: { id: string; name: string | null; email: string } | null;
  topics: { id: string; name: string; color: string | null }[];
  tags: { id: string; name: string }[];
  /** The thread's first message: its sort key and the preview of its text. */
  opening: { id: string; byCreated: string; preview: string | null } | null;
};

export type ConversationDocument = Document<Conversation, ConversationJoined>;

export const conversationResource: Resource<Conversation> = {
  collection: 'conversations',
  indexes: [
    { name: 'ticket', key: { orgId: 1, 'own.ticketId': 1 } },
    { name: 'keptUntil', key: { keptUntil: 1 }, partialFilterExpression: { keptUntil: { $exists: true } } },
    { name: 'pending', key: { pending: 1 }, partialFilterExpression: { pending: true } },
    refsIndex,
    tombstoneIndex,
  ],
  sortKeys: () => ({}),
};
