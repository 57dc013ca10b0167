import type { ConversationJoined } from '../../../shared/documents/conversation.ts';
import { defineProjection } from './define-projection.ts';

export const conversation = defineProjection(
  'conversation',
  ({ one, many }) => ({
    channel: one('channel', (state) => state.channelId, 'id', 'name', 'type', 'dataRetentionDays'),
    contact: one('contact', (state) => state.contactId, 'name', 'email'),
    assignedUser: one('user', (state) => state.assignedUserId, 'id', 'name', 'email'),
    topics: many('topic', (state) => state.topicIds, 'id', 'name', 'color'),
    tags: many('tag', (state) => state.tagIds, 'id', 'name'),
  }),
  ({ contact, ...joined }): ConversationJoined => ({
    ...joined,
    contact: contact && { name: contact.name, email: contact.email?.email ?? null },
  }),
  { deletionIsFinal: true, isPending: ({ channel }) => channel === null },
);
