import { embeddedConversationsMax, type TicketJoined } from '../../../shared/documents/ticket.ts';
import { embeddedConversation } from '../../../shared/documents/visibility.ts';
import { defineProjection } from './define-projection.ts';

export const ticket = defineProjection(
  'ticket',
  ({ one, many, childrenOf, through }) => {
    const conversations = childrenOf(
      'conversation',
      'ticketId',
      embeddedConversationsMax,
      'id',
      'role',
      'status',
      'channelId',
      'createdAt',
      'updatedAt',
    );
    return {
      requester: one('contact', (state) => state.requesterId, 'name', 'email'),
      tags: many('tag', (state) => state.tagIds, 'id', 'name'),
      topics: many('topic', (state) => state.topicIds, 'id', 'name'),
      conversations,
      // A conversation is visible once its channel is known, and as long as that channel retains it.
      channels: through(conversations, 'channelId', 'channel', 'id', 'dataRetentionDays'),
    };
  },
  ({ requester, tags, topics, conversations, channels }): TicketJoined => {
    const channelById = new Map(channels.map((channel) => [channel.id, channel]));
    return {
      requester,
      tags,
      topics,
      moreAfter: conversations.moreAfter,
      conversations: conversations.items.flatMap((conversation) =>
        embeddedConversation(conversation, channelById.get(conversation.channelId)),
      ),
    };
  },
);
