import { z } from 'zod';
import { keyAbove } from '../../../shared/documents/instant.ts';
import {
  type Message,
  type MessageDocument,
  messageRoles,
  messageTypes,
} from '../../../shared/documents/message.ts';
import {
  expiredUpTo,
  type Retention,
  type StoredConversation,
  visibilityFields,
} from '../../../shared/documents/visibility.ts';
import { ApiError } from '../http/api-error.ts';
import { idParameter } from '../http/parameters.ts';
import { type Clock, defineRoute } from '../http/route.ts';
import { oldestFirst, type RangeQuery } from '../paging/key-range.ts';
import { listEnvelope, listSchema } from '../paging/list-envelope.ts';
import { answerPage, readListPage } from '../paging/list-page.ts';
import { pageParameters } from '../paging/page-parameters.ts';
import { type Page, type PageRequest, readPage } from '../paging/page-query.ts';
import type { StoreReader } from '../store/reader.ts';
import { choice, component, displayName, nullableText, secondsSchema, toSeconds } from './fields.ts';
import { findConversation, type StateAndJoined } from './find-by-id.ts';

const attachmentSchema = component('Attachment', 'A file attached to a message.', {
  id: z.string().describe('Id of the attachment.'),
  filename: z.string().describe('The original name of the file, as given by the sender.'),
});

/** The fields that a message has both in a list and inside a conversation. */
export const messageFields = {
  id: z.string().startsWith('msg_').describe('Id of the message.'),
  object: z.literal('message').describe('Always `message`.'),
  role: choice(
    messageRoles,
    'Who wrote the message. `user`: the contact. `assistant`: the AI. `human`: a teammate. `system`: the service itself.',
  ),
  content: nullableText.describe('The text of the message, without formatting; null if it has none.'),
  createdAt: secondsSchema.describe('When the message was recorded.'),
  attachments: z
    .array(attachmentSchema)
    .describe('The attached files, except files that are shown inside the text.'),
};

const author = component('Author', 'The sender of a message.', {
  type: choice(
    ['contact', 'user', 'ai_agent'],
    '`contact`: a contact. `user`: a teammate. `ai_agent`: an AI agent.',
  ),
  id: z
    .string()
    .refine((id) => /^(con|user|agent)_/.test(id))
    .describe('Id of the sender, which starts with `con_`, `user_` or `agent_`.'),
  name: displayName,
  email: nullableText.describe('The email address; null if it is unknown. Always null for an AI agent.'),
});

/** A message in a list; inside a conversation it has another shape. */
const messageItemSchema = component('Message', 'A message in a list.', {
  id: messageFields.id,
  object: messageFields.object,
  conversationId: z
    .string()
    .startsWith('conv_')
    .describe('Id of the conversation to which the message belongs.'),
  type: choice(messageTypes, 'The medium of the message.'),
  role: messageFields.role,
  author: author.nullable().describe('The sender; null for system messages.'),
  content: messageFields.content,
  attachments: messageFields.attachments,
  createdAt: messageFields.createdAt,
});
const messageListSchema = listSchema('MessageList', messageItemSchema);

type MessageItem = z.output<typeof messageItemSchema>;
type Attachment = z.output<typeof attachmentSchema>;

const question: MessageItem = {
  id: 'msg_01K3QZ8P7W',
  object: 'message',
  conversationId: 'conv_01K3QZ8N6V',
  type: 'email',
  role: 'user',
  author: { type: 'contact', id: 'con_01K3QZ7A2B', name: 'Ada Lovelace', email: 'ada@example.com' },
  content: 'Hello, my invoice of January shows the wrong amount.',
  attachments: [{ id: 'att_01K3QZ8R9X', filename: 'invoice.pdf' }],
  createdAt: '2026-01-31T09:15:02Z',
};

const answer: MessageItem = {
  id: 'msg_01K3QZ9A4Z',
  object: 'message',
  conversationId: 'conv_01K3QZ8N6V',
  type: 'email',
  role: 'assistant',
  author: { type: 'ai_agent', id: 'agent_01K1BOT', name: 'Assistant', email: null },
  content: 'Thank you. A colleague is going to look at the invoice.',
  attachments: [],
  createdAt: '2026-01-31T09:15:20Z',
};

type StoredMessage = StateAndJoined<MessageDocument>;

export const presentMessageItem = ({ state, joined }: StoredMessage): MessageItem => ({
  id: state.id,
  object: 'message',
  conversationId: state.conversationId,
  type: state.type,
  role: state.role,
  author: presentAuthor({ state, joined }),
  content: state.content ?? null,
  attachments: presentAttachments(state.attachments),
  createdAt: toSeconds(state.createdAt),
});

/** Leaves out inline files, which the text shows. */
export const presentAttachments = (attachments: Message['attachments']): Attachment[] =>
  attachments.filter(({ inline }) => !inline).map(({ id, filename }) => ({ id, filename }));

/** If the sender has no document, for example because it was deleted, the response still has its type and id. */
function presentAuthor({ state, joined }: StoredMessage): MessageItem['author'] {
  if (!state.author) return null;
  const { name, email } = joined.author ?? { name: null, email: null };
  return { type: state.author.type, id: state.author.id, name, email };
}

/**
 * The messages of a conversation that have not expired. `from` is the lowest sort key of such a message; null if the
 * channel keeps messages forever.
 */
export type Thread = { orgId: string; conversationId: string; from: string | null };

/** A message expires after the retention of its channel, counted from its own `createdAt`. */
export function threadOf(
  { orgId, conversationId }: Omit<Thread, 'from'>,
  retention: Retention,
  now: Date,
): Thread {
  const expired = expiredUpTo(retention, now);
  return { orgId, conversationId, from: expired === null ? null : keyAbove(expired) };
}

/** The messages of a thread after a sort key; all of them for null. */
export const threadQuery = ({ orgId, conversationId, from }: Thread, after: string | null): RangeQuery =>
  oldestFirst({
    kind: 'message',
    equals: { 'state.conversationId': conversationId, orgId },
    hint: 'thread',
    after,
    from,
  });

export const listMessages = ({ now }: Clock) =>
  defineRoute({
    path: '/v1/conversations/:id/messages',
    operationId: 'listMessages',
    tag: 'Conversations',
    summary: 'List the messages of a conversation',
    description:
      'Returns the messages of the conversation, oldest first. The length of a thread is not limited. The conversation may be archived.',
    params: idParameter('conv_', question.conversationId),
    query: z.object(pageParameters),
    response: messageListSchema,
    example: listEnvelope(`/v1/conversations/${question.conversationId}/messages`, [question, answer]),
    errors: ['conversation_not_found', 'invalid_cursor'],
    handler: async (scope, { params, query: { limit, startingAfter } }) => {
      const { orgId, store } = scope;
      const conversationId = params.id;
      const page = await readListPage(scope, {
        kind: 'message',
        cursorScope: { list: `messages of ${conversationId}`, sort: 'createdAt', filters: null },
        startingAfter,
        read: (after) => readMessages(store, conversationId, now(), { orgId, limit, after }),
        present: (message) => presentMessageItem(message),
      });
      return answerPage(page);
    },
  });

/** The usual message names archiving as a cause, but this list also serves archived conversations. */
const notFoundMessage = 'Your organization has no conversation with the id in the path; check the id.';

/**
 * Reads the page and the conversation in parallel, although only the conversation has the retention. If the page begins
 * with expired messages, reads it again from the first message that has not expired. Only the first page of an old
 * conversation needs this second read.
 */
async function readMessages(
  store: StoreReader,
  conversationId: string,
  now: Date,
  { orgId, limit, after }: PageRequest,
): Promise<Page<MessageDocument>> {
  const thread = { orgId, conversationId };
  const readFrom = (lowestKey: string | null) =>
    readPage<MessageDocument>(store, { ...threadQuery({ ...thread, from: lowestKey }, after), limit });
  const [conversation, page] = await Promise.all([
    findConversation<StoredConversation>(store, conversationId, now, visibilityFields),
    readFrom(null),
  ]);
  if (!conversation) throw new ApiError('conversation_not_found', { message: notFoundMessage });
  const { from } = threadOf(thread, conversation.joined.channel, now);
  const firstKey = page.items[0]?.byCreated;
  const beginsExpired = from !== null && firstKey !== undefined && firstKey < from;
  return beginsExpired ? readFrom(from) : page;
}
