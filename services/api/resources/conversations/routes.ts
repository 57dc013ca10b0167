import { ApiError } from '../../http/api-error.ts';
import { idParameter, noQuery } from '../../http/parameters.ts';
import { defineRoute, type Clock, type Route } from '../../http/route.ts';
import { threadOf } from '../messages.ts';
import { presentConversationHead } from './presenter.ts';
import { findConversation } from './query.ts';
import { type EmbeddedMessage, conversationExample, conversationSchema } from './schema.ts';
import { conversationChunks, readThread } from './thread.ts';

const retrieveConversation = ({ now }: Clock) =>
  defineRoute({
    path: '/v1/conversations/:id',
    operationId: 'retrieveConversation',
    tag: 'Conversations',
    summary: 'Retrieves a conversation',
    description:
      'Returns the conversation with all its messages, oldest first, however long the thread is. An archived ' +
      'conversation returns 404.',
    params: idParameter('conv_', conversationExample.id),
    query: noQuery,
    response: conversationSchema,
    example: conversationExample,
    errors: ['conversation_not_found'],
    handler: async ({ orgId, store }, { params }) => {
      const instant = now();
      const conversation = await findConversation(store, { id: params.id, now: instant });
      const status = conversation?.state.status;
      if (!conversation || !status || status === 'archived') throw new ApiError('conversation_not_found');
      const thread = readThread(
        store,
        threadOf({ orgId, conversationId: params.id }, conversation.joined.channel, instant),
      );
      const head = (opening: EmbeddedMessage | undefined) =>
        presentConversationHead(conversation, status, opening);
      return { chunks: conversationChunks(head, thread) };
    },
  });

export const conversationRoutes = (clock: Clock): Route[] => [retrieveConversation(clock)];
