import { ApiError } from '../../http/api-error.ts';
import { idParameter } from '../../http/path-parameters.ts';
import { noQuery } from '../../http/query-string.ts';
import { defineRoute, type Route } from '../../http/route.ts';
import type { Clock } from '../retention.ts';
import { conversationExample } from './examples.ts';
import { presentConversationHead } from './presenter.ts';
import { findConversation } from './query.ts';
import { conversationSchema } from './schema.ts';
import { conversationChunks, readThread } from './thread.ts';

const retrieveConversation = ({ now }: Clock) =>
  defineRoute({
    method: 'GET',
    path: '/v1/conversations/:id',
    operationId: 'retrieveConversation',
    tag: 'Conversations',
    summary: 'Retrieves a conversation',
    description:
      'The conversation with every message, oldest first, however long the thread is. An archived conversation ' +
      'is not found.',
    params: idParameter('conv_', conversationExample.id),
    query: noQuery,
    response: conversationSchema,
    example: conversationExample,
    errors: ['conversation_not_found', 'invalid_path_parameter', 'invalid_query_parameter'],
    handler: async ({ orgId, database }, { params }) => {
      const conversation = await findConversation(database, { orgId, id: params.id, now: now() });
      const status = conversation?.own.status;
      if (!conversation || !status || status === 'archived') throw new ApiError('conversation_not_found');
      const head = presentConversationHead(conversation, status);
      return { chunks: conversationChunks(head, readThread(database, orgId, params.id)) };
    },
  });

export const conversationRoutes = (clock: Clock): Route[] => [retrieveConversation(clock)];
