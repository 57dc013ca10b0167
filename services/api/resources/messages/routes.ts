import type { MessageDocument } from '../../../../shared/documents/message.ts';
import { ApiError } from '../../http/api-error.ts';
import { idParameter } from '../../http/parameters.ts';
import { defineRoute, type Clock, type Route } from '../../http/route.ts';
import { listHandler } from '../../paging/list-handler.ts';
import { readPage } from '../../paging/page-query.ts';
import type { StoreReader } from '../../store/reader.ts';
import { findRetention } from '../conversations/query.ts';
import { conversationExample } from '../conversations/examples.ts';
import { messageListExample } from './examples.ts';
import { presentMessageItem } from './presenter.ts';
import { threadOf, threadQuery, type Thread } from './query.ts';
import { messageListQuery, messageListSchema } from './schema.ts';

const listMessages = ({ now }: Clock) =>
  defineRoute({
    method: 'GET',
    path: '/v1/conversations/:id/messages',
    operationId: 'listMessages',
    tag: 'Conversations',
    summary: 'Lists the messages of a conversation',
    description:
      'Returns the messages, oldest first. The length of a thread is not limited. Messages of archived conversations can be listed.',
    params: idParameter('conv_', conversationExample.id),
    query: messageListQuery,
    response: messageListSchema,
    example: messageListExample,
    errors: ['conversation_not_found', 'invalid_cursor'],
    handler: listHandler(({ orgId, store }, { params: { id }, query: { limit } }) => ({
      cursorScope: { list: `messages of ${id}`, sort: 'createdAt', filters: null },
      read: (after) =>
        readMessages(store, { thread: { orgId, conversationId: id }, limit, after, now: now() }),
      present: presentMessageItem,
    })),
  });

type Request = { thread: Omit<Thread, 'from'>; limit: number; after: string | null; now: Date };

/**
 * Reads the page and the conversation's retention in parallel. If the page starts with expired messages, it is read
 * again; this is rare: the first page of a conversation that is older than its retention.
 */
async function readMessages(store: StoreReader, { thread, limit, after, now }: Request) {
  const readFrom = (from: string | null) =>
    readPage<MessageDocument>(store, { ...threadQuery({ ...thread, from }, after), limit });
  const { conversationId: id } = thread;
  const [retention, page] = await Promise.all([findRetention(store, { id, now }), readFrom(null)]);
  if (!retention) throw new ApiError('conversation_not_found');
  const { from } = threadOf(thread, retention, now);
  const first = page.items[0]?.byCreated;
  return from !== null && first !== undefined && first < from ? readFrom(from) : page;
}

export const messageRoutes = (clock: Clock): Route[] => [listMessages(clock)];
