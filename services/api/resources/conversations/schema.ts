import { z } from 'zod';
import { channelTypes } from '../../../../shared/documents/channel.ts';
import { activeConversationStatuses } from '../../../../shared/documents/conversation.ts';
import { messageRoles } from '../../../../shared/documents/message.ts';
import { attachmentSchema } from '../messages/schema.ts';
import { secondsSchema } from '../timestamps.ts';

const conversationFields = {
  id: z.string().startsWith('conv_'),
  object: z.literal('conversation'),
  title: z.string(),
  status: z.enum(activeConversationStatuses),
  supportLevel: z.enum(['ai', 'human']),
  channel: z.strictObject({ id: z.string(), name: z.string(), type: z.enum(channelTypes) }),
  contact: z.strictObject({
    id: z.string().startsWith('ct_'),
    name: z.string().nullable(),
    email: z.string().nullable(),
  }),
  assignedToUser: z
    .strictObject({ id: z.string().startsWith('user_'), name: z.string().nullable(), email: z.string() })
    .nullable(),
  topics: z.array(z.strictObject({ id: z.string(), name: z.string(), color: z.string().nullable() })),
  tags: z.array(z.strictObject({ id: z.string(), name: z.string() })),
  urgencyScore: z.int().min(1).max(3).nullable(),
  lastMessagePreview: z.string().nullable(),
  createdAt: secondsSchema,
  updatedAt: secondsSchema,
  waitingSince: secondsSchema.nullable(),
  firstHumanReplyAt: secondsSchema.nullable(),
  resolvedAt: secondsSchema.nullable(),
};

/** A message inside a conversation; in a list it has another shape. */
export const embeddedMessageSchema = z.strictObject({
  id: z.string().startsWith('msg_'),
  object: z.literal('message'),
  role: z.enum(messageRoles),
  content: z.string().nullable(),
  createdAt: secondsSchema,
  sentAt: secondsSchema.nullable(),
  attachments: z.array(attachmentSchema),
});

export const conversationSchema = z.strictObject({
  ...conversationFields,
  messages: z.array(embeddedMessageSchema),
});

/** A conversation less its messages, which are streamed behind it. */
export type ConversationHead = Omit<z.output<typeof conversationSchema>, 'messages'>;
export type EmbeddedMessage = z.output<typeof embeddedMessageSchema>;
