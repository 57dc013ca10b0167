import { embeddedConversationsMax, type TicketJoined } from '../../../shared/documents/ticket.ts';
import { retainUntil } from '../../../shared/documents/retention.ts';
import { defineProjection } from './define-projection.ts';

export const ticket = defineProjection(
  'ticket',
  ({ one, many, childrenOf, through }) => ({
    requester: one('contact', (state) => state.requesterId, 'name', 'email'),
    tags: many('tag', (state) => state.tagIds, 'id', 'name'),
    topics: many('topic', (state) => state.topicIds, 'id', 'name'),
    conversations: childrenOf(
      'conversation',
      'ticketId',
      embeddedConversationsMax,
      'id',
      'role',
      'status',
      'channelId',
      'createdAt',
      'updatedAt',
    ),
    // A conversation is visible once its channel is known, so the ticket looks that far too.
    channels: through('channel', 'conversations', 'channelId', 'id', 'dataRetentionDays'),
  }),
  ({ requester, tags, topics, conversations, channels }): TicketJoined => {
    const byId = new Map(channels.map((channel) => [channel.id, channel]));
    return {
      ...{ requester, tags, topics, moreAfter: conversations.moreAfter },
      conversations: conversations.items.flatMap(({ id, role, status, channelId, createdAt, updatedAt }) => {
        const channel = byId.get(channelId);
        if (!channel) return [];
        const until = retainUntil(updatedAt, channel.dataRetentionDays);
        return [{ id, role, status, createdAt, updatedAt, retainUntil: until }];
      }),
    };
  },
);
