import { z } from 'zod';
import { activeConversationStatuses } from '../../../../shared/documents/conversation.ts';
import { messageRoles } from '../../../../shared/documents/message.ts';
import { attachmentSchema, messageTexts } from '../messages/schema.ts';
import { labelSchema, secondsSchema } from '../fields.ts';

/** Channel types as conversations name them: a conversation with a chatbot comes in through its widget. */
const conversationChannelTypes = ['email', 'widget', 'form'] as const;

const channel = z
  .strictObject({
    id: z.string().describe('Id of the channel.'),
    name: z.string().describe("The channel's name in the dashboard."),
    type: z
      .enum(conversationChannelTypes)
      .describe('Email inbox, chat widget or form. The channel itself calls a chat widget `chatbot`.'),
  })
  .describe('The channel through which the conversation came in.');

const contact = z
  .strictObject({
    id: z.string().startsWith('ct_').describe('Id of the party.'),
    name: z.string().nullable().describe('Display name; null if none is known.'),
    email: z.string().nullable().describe('Address; null if none is known.'),
  })
  .describe('The party that the conversation is with.');

const assignedToUser = z
  .strictObject({
    id: z.string().startsWith('user_').describe('Id of the teammate.'),
    name: z.string().nullable().describe('Display name; null if none is known.'),
    email: z.string().describe('Address of the teammate.'),
  })
  .nullable()
  .describe('The teammate who is assigned; null when unassigned.');

const topic = z
  .strictObject({
    id: z.string().describe('Id of the topic.'),
    name: z.string().describe('Its name.'),
    color: z.string().nullable().describe('Hex color, such as `#ff8800`; null if it has none.'),
  })
  .meta({ id: 'ConversationTopic', description: 'A topic, with its color.' });

const conversationFields = {
  id: z.string().startsWith('conv_').describe('Id of the conversation.'),
  object: z.literal('conversation').describe('Always `conversation`.'),
  title: z.string().describe('Subject or summary.'),
  status: z.enum(activeConversationStatuses).describe('Where the conversation stands.'),
  supportLevel: z.enum(['ai', 'human']).describe('Who handles it now.'),
  channel,
  contact,
  assignedToUser,
  topics: z.array(topic).describe('Topics on the conversation.'),
  tags: z.array(labelSchema).describe('Tags on the conversation.'),
  urgencyScore: z
    .int()
    .min(1)
    .max(3)
    .nullable()
    .describe('From 1 (not urgent) to 3 (critical); null when unscored.'),
  lastMessagePreview: z
    .string()
    .nullable()
    .describe(
      'The first 200 characters of the opening message, with an ellipsis when it is longer; null if there ' +
        'are no messages.',
    ),
  createdAt: secondsSchema.describe('When the conversation was created.'),
  updatedAt: secondsSchema.describe('When the conversation was last updated.'),
  waitingSince: secondsSchema
    .nullable()
    .describe('When the conversation began waiting for a response; null if it does not wait.'),
  firstHumanReplyAt: secondsSchema.nullable().describe('Null if no human has replied.'),
  resolvedAt: secondsSchema.nullable().describe('Null while open.'),
};

/** A message inside a conversation; in a list it has another shape. */
const embeddedMessageSchema = z
  .strictObject({
    id: z.string().startsWith('msg_').describe(messageTexts.id),
    object: z.literal('message').describe('Always `message`.'),
    role: z.enum(messageRoles).describe(messageTexts.role),
    content: z.string().nullable().describe(messageTexts.content),
    createdAt: secondsSchema.describe(messageTexts.createdAt),
    sentAt: secondsSchema
      .nullable()
      .describe('When an outbound message was delivered; null for inbound messages and undelivered drafts.'),
    attachments: z.array(attachmentSchema).describe(messageTexts.attachments),
  })
  .meta({ id: 'ConversationMessage', description: 'A message inside a retrieved conversation.' });

export const conversationSchema = z
  .strictObject({
    ...conversationFields,
    messages: z.array(embeddedMessageSchema).describe('Every message, oldest first.'),
  })
  .meta({ id: 'Conversation', description: 'A thread of messages with one party.' });

/** A conversation without its messages, which are streamed after it. */
export type ConversationHead = Omit<ConversationResponse, 'messages'>;
export type ConversationResponse = z.output<typeof conversationSchema>;
export type EmbeddedMessage = z.output<typeof embeddedMessageSchema>;
