import type { ConversationDocument } from '../../../../shared/documents/conversation.ts';
import { ApiError } from '../../http/api-error.ts';
import { idParameter, noParameters } from '../../http/parameters.ts';
import { type Clock, defineRoute } from '../../http/route.ts';
import { objectChunks } from '../../paging/json-chunks.ts';
import { readStored } from '../../store/readable.ts';
import { findConversation } from '../find-by-id.ts';
import { threadOf } from '../messages.ts';
import { presentConversationHead, presentEmbeddedMessage } from './presenter.ts';
import { conversationExample, conversationSchema, type EmbeddedMessage } from './schema.ts';
import { readThread } from './thread.ts';

export const retrieveConversation = ({ now }: Clock) =>
  defineRoute({
    path: '/v1/conversations/:id',
    operationId: 'retrieveConversation',
    tag: 'Conversations',
    summary: 'Retrieve a conversation',
    description:
      'Returns the conversation with all its messages, oldest first, however long the thread is. An archived ' +
      'conversation returns 404.',
    params: idParameter('conv_', conversationExample.id),
    query: noParameters,
    response: conversationSchema,
    example: conversationExample,
    errors: ['conversation_not_found'],
    handler: async ({ orgId, store }, { params }) => {
      const instant = now();
      const conversation = await findConversation<ConversationDocument>(store, params.id, instant);
      if (!conversation) throw new ApiError('conversation_not_found');
      const { status } = conversation.state;
      if (status === 'archived') throw new ApiError('conversation_not_found');
      const thread = readThread(
        store,
        threadOf({ orgId, conversationId: params.id }, conversation.joined.channel, instant),
      );
      const chunks = objectChunks(thread, {
        kind: 'message',
        idOf: ({ state }) => state.id,
        onUnreadable: store.onUnreadable,
        before: (opening?: EmbeddedMessage) =>
          readStored('conversation', params.id, () => presentConversationHead(conversation, status, opening)),
        name: 'messages',
        present: ({ state }) => presentEmbeddedMessage(state),
        after: {},
      });
      return { chunks };
    },
  });
