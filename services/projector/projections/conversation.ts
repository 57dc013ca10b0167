import type { ConversationJoined } from '../../../shared/documents/conversation.ts';
import { defineProjection } from './define-projection.ts';

export const conversation = defineProjection(
  'conversation',
  ({ one, many }) => ({
    channel: one('channel', (own) => own.channelId, 'id', 'name', 'type', 'dataRetentionDays'),
    contact: one('contact', (own) => own.contactId, 'name', 'email'),
    assignedUser: one('user', (own) => own.assignedUserId, 'id', 'name', 'email'),
    topics: many('topic', (own) => own.topicIds, 'id', 'name', 'color'),
    tags: many('tag', (own) => own.tagIds, 'id', 'name'),
  }),
  ({ contact, ...joined }): ConversationJoined => ({
    ...joined,
    contact: contact && { name: contact.name, email: contact.email?.email ?? null },
  }),
  { deletionIsFinal: true, isPending: ({ channel }) => channel === null },
);
