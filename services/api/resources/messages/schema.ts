import { z } from 'zod';
import { messageRoles, messageTypes } from '../../../../shared/documents/message.ts';
import { listSchema } from '../../paging/list-envelope.ts';
import { pageParameters } from '../../paging/page-parameters.ts';
import { secondsSchema } from '../timestamps.ts';

export const messageListQuery = z.object(pageParameters);

export const attachmentSchema = z.strictObject({ id: z.string(), filename: z.string() });

const person = { name: z.string().nullable(), email: z.string().nullable() };
const author = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('contact'), id: z.string().startsWith('con_'), ...person }),
  z.strictObject({ type: z.literal('user'), id: z.string().startsWith('user_'), ...person }),
  z.strictObject({
    type: z.literal('ai_agent'),
    id: z.string().startsWith('agent_'),
    name: z.string().nullable(),
    email: z.null(),
  }),
]);

/** A message in a list; inside a conversation it has another shape. */
export const messageItemSchema = z.strictObject({
  id: z.string().startsWith('msg_'),
  object: z.literal('message'),
  conversationId: z.string().startsWith('conv_'),
  type: z.enum(messageTypes),
  role: z.enum(messageRoles),
  author: author.nullable(),
  content: z.string().nullable(),
  attachments: z.array(attachmentSchema),
  createdAt: secondsSchema,
});
export const messageListSchema = listSchema(messageItemSchema);

export type MessageItem = z.output<typeof messageItemSchema>;
export type Attachment = z.output<typeof attachmentSchema>;
