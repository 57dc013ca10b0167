import type { TicketJoined } from '../../../shared/documents/ticket.ts';
import { keptUntil } from '../../../shared/documents/retention.ts';
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
    channels: through<'conversation', 'channel', { id: string; dataRetentionDays: number | null }>(
      'conversations',
      'channel',
      (conversation) => conversation.channelId,
      ({ id, dataRetentionDays }) => ({ id, dataRetentionDays }),
    ),
  },
  document: ({ requester, tags, topics, conversations, channels }): TicketJoined => ({
    requester,
    tags,
    topics,
    conversations: conversations
      .map((conversation) => ({
        ...conversation,
        channel: channels.find(({ id }) => id === conversation.channelId),
      }))
      .filter(({ channel }) => channel !== undefined)
      .sort(
        (a, b) =>
          a.createdAt.getTime() - b.createdAt.getTime() ||
          Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)),
      )
      .map(({ id, role, status, createdAt, updatedAt, channel }) => ({
        id,
        role,
        status,
        createdAt,
        updatedAt,
        keptUntil: keptUntil(updatedAt, channel?.dataRetentionDays ?? null),
      })),
  }),
});
