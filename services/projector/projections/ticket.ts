import type { TicketJoined } from '../../../shared/documents/ticket.ts';
import { childrenOf, define, many, one, through } from './define.ts';

export const ticket = define('ticket', {
  refers: {
    requester: one<'contact', 'ticket', NonNullable<TicketJoined['requester']>>(
      'contact',
      (own) => own.requesterId,
      ({ name, email }) => ({ name, email }),
    ),
    tags: many<'tag', 'ticket', { id: string; name: string }>(
      'tag',
      (own) => own.tagIds,
      ({ id, name }) => ({ id, name }),
    ),
    topics: many<'topic', 'ticket', { id: string; name: string }>(
      'topic',
      (own) => own.topicIds,
      ({ id, name }) => ({ id, name }),
    ),
    conversations: childrenOf('conversation', 'ticketId', (own) => ({
      id: own.id,
      role: own.role,
      status: own.status,
      channelId: own.channelId,
      createdAt: own.createdAt,
      updatedAt: own.updatedAt,
    })),
    // A conversation is visible once its channel is known, so the ticket looks that far too.
    channels: through<'conversation', 'channel', string>(
      'conversations',
      'channel',
      (conversation) => conversation.channelId,
      ({ id }) => id,
    ),
  },
  document: ({ requester, tags, topics, conversations, channels }): TicketJoined => ({
    requester,
    tags,
    topics,
    conversations: conversations
      .filter(({ channelId }) => channels.includes(channelId))
      .sort(
        (a, b) =>
          a.createdAt.getTime() - b.createdAt.getTime() ||
          Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)),
      )
      .map(({ id, role, status, createdAt, updatedAt }) => ({ id, role, status, createdAt, updatedAt })),
  }),
});
