import type { MessageDocument } from '../../../../shared/documents/message.ts';
import { ApiError } from '../../http/api-error.ts';
import { idParameter } from '../../http/path-parameters.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import type { Clock } from '../retention.ts';
import { decodeCursor } from '../../paging/cursor.ts';
import { listEnvelope } from '../../paging/list-envelope.ts';
import { readPage } from '../../paging/page-query.ts';
import { findConversation } from '../conversations/query.ts';
import { conversationExample } from '../conversations/examples.ts';
import { messageListExample } from './examples.ts';
import { presentMessageItem } from './presenter.ts';
import { messagePageQuery, threadOf } from './query.ts';
import { messageListQuery, messageListSchema } from './schema.ts';

const listMessages = ({ now }: Clock) =>
  defineRoute({
    method: 'GET',
    path: '/v1/conversations/:id/messages',
    operationId: 'listMessages',
    tag: 'Conversations',
    summary: 'Lists the messages of a conversation',
    description: 'Oldest first, with no cap on the length of the thread; of an archived conversation too.',
    params: idParameter('conv_', conversationExample.id),
    query: messageListQuery,
    response: messageListSchema,
    example: messageListExample,
    errors: ['conversation_not_found', 'invalid_cursor'],
    handler: async ({ orgId, store, path }, { params, query: { limit, startingAfter } }) => {
      const scope = { orgId, list: `messages of ${params.id}`, sort: 'createdAt', filters: null };
      const after = startingAfter === undefined ? null : decodeCursor(startingAfter, scope);
      const instant = now();
      const conversation = await findConversation(store, { orgId, id: params.id, now: instant });
      if (!conversation) throw new ApiError('conversation_not_found');
      const query = messagePageQuery(threadOf(orgId, conversation, instant), limit, after);
      const page = await readPage<MessageDocument>(store, query);
      return { body: listEnvelope(page, { scope, path }, presentMessageItem) };
    },
  });

export const messageRoutes = (clock: Clock): Route[] => [listMessages(clock)];
