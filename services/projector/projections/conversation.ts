import type { ConversationJoined } from '../../../shared/documents/conversation.ts';
import { sortKey } from '../../../shared/documents/instant.ts';
import { keptUntil } from '../../../shared/documents/retention.ts';
import { define, firstChildOf, many, one } from './define.ts';
import { preview } from './preview.ts';

type Known<Field extends keyof ConversationJoined> = NonNullable<ConversationJoined[Field]>;

export const conversation = define('conversation', {
  deletionIsFinal: true,
  refers: {
    channel: one<'channel', 'conversation', Known<'channel'>>(
      'channel',
      (own) => own.channelId,
      ({ id, name, type, dataRetentionDays }) => ({ id, name, type, dataRetentionDays }),
    ),
    contact: one<'contact', 'conversation', Known<'contact'>>(
      'contact',
      (own) => own.contactId,
      ({ name, email }) => ({ name, email: email?.email ?? null }),
    ),
    assignedUser: one<'user', 'conversation', Known<'assignedUser'>>(
      'user',
      (own) => own.assignedUserId,
      ({ id, name, email }) => ({ id, name, email }),
    ),
    topics: many<'topic', 'conversation', Known<'topics'>[number]>(
      'topic',
      (own) => own.topicIds,
      ({ id, name, color }) => ({ id, name, color }),
    ),
    tags: many<'tag', 'conversation', Known<'tags'>[number]>(
      'tag',
      (own) => own.tagIds,
      ({ id, name }) => ({ id, name }),
    ),
    opening: firstChildOf('message', 'conversationId', ({ id, createdAt, content }) => ({
      id,
      byCreated: sortKey(createdAt, id),
      preview: content === null ? null : preview(content),
    })),
  },
  document: (joined): ConversationJoined => joined,
  isPending: ({ channel }) => channel === null,
  keptUntil: ({ updatedAt }, { channel }) => keptUntil(updatedAt, channel?.dataRetentionDays ?? null),
});
