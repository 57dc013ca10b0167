import { z } from 'zod';
import { activeConversationStatuses } from '../../../../shared/documents/conversation.ts';
import {
  choice,
  component,
  displayName,
  labelSchema,
  nullableSeconds,
  nullableText,
  object,
  objectOrNull,
  secondsSchema,
} from '../fields.ts';
import { messageFields } from '../messages.ts';

/** Channel types as conversations name them: a conversation with a chatbot comes in through its widget. */
const conversationChannelTypes = ['email', 'widget', 'form'] as const;

const channel = object('The channel through which the conversation came in.', {
  id: z.string().describe('Id of the channel.'),
  name: z.string().describe("The channel's name in the dashboard."),
  type: choice(
    conversationChannelTypes,
    '`email`: an email inbox. `widget`: a chat widget, which the channel itself calls `chatbot`. `form`: a form.',
  ),
});

const contact = object('The contact with whom the conversation takes place.', {
  id: z.string().startsWith('ct_').describe('Id of the contact.'),
  name: displayName,
  email: nullableText.describe('The email address; null if it is unknown.'),
});

const assignedToUser = objectOrNull('The teammate assigned to the conversation; null if it is unassigned.', {
  id: z.string().startsWith('user_').describe('Id of the teammate.'),
  name: displayName,
  email: z.string().describe('Email address of the teammate.'),
});

const topic = component('ConversationTopic', 'A topic, with its color.', {
  id: z.string().describe('Id of the topic.'),
  name: z.string().describe('Name of the topic.'),
  color: nullableText.describe('Color of the topic in hexadecimal, such as `#ff8800`; null if it has none.'),
});

const conversationFields = {
  id: z.string().startsWith('conv_').describe('Id of the conversation.'),
  object: z.literal('conversation').describe('Always `conversation`.'),
  title: z.string().describe('The subject or a summary.'),
  status: choice(activeConversationStatuses, 'The status of the conversation.'),
  supportLevel: choice(
    ['ai', 'human'],
    'Who handles the conversation now: `ai` (the AI) or `human` (a teammate).',
  ),
  channel,
  contact,
  assignedToUser,
  topics: z.array(topic).describe('The topics of the conversation.'),
  tags: z.array(labelSchema).describe('The tags of the conversation.'),
  urgencyScore: z
    .int()
    .min(1)
    .max(3)
    .nullable()
    .describe('The urgency from 1 (not urgent) to 3 (critical); null if it has not been scored.'),
  lastMessagePreview: nullableText.describe(
    'The first 200 characters of the opening message, with an ellipsis if the message is longer; null if ' +
      'there are no messages, or if the opening message has no text.',
  ),
  createdAt: secondsSchema.describe('When the conversation was created.'),
  updatedAt: secondsSchema.describe('When the conversation was last updated.'),
  waitingSince: nullableSeconds.describe(
    'When the conversation began to wait for a response; null if it is not waiting.',
  ),
  firstHumanReplyAt: nullableSeconds.describe('When a teammate first replied; null if none has.'),
  resolvedAt: nullableSeconds.describe('When the conversation was resolved; null while it is open.'),
};

/** A message inside a conversation; in a list it has another shape. */
const embeddedMessageSchema = component('ConversationMessage', 'A message inside a retrieved conversation.', {
  id: messageFields.id,
  object: messageFields.object,
  role: messageFields.role,
  content: messageFields.content,
  createdAt: messageFields.createdAt,
  sentAt: nullableSeconds.describe(
    'When an outbound message was delivered; null for inbound messages and for drafts that have not been delivered.',
  ),
  attachments: messageFields.attachments,
});

export const conversationSchema = component('Conversation', 'A thread of messages with one contact.', {
  ...conversationFields,
  messages: z.array(embeddedMessageSchema).describe('All messages of the conversation, oldest first.'),
});

/** A conversation without its messages, which are streamed after it. */
export type ConversationHead = Omit<ConversationResponse, 'messages'>;
type ConversationResponse = z.output<typeof conversationSchema>;
export type EmbeddedMessage = z.output<typeof embeddedMessageSchema>;

export const conversationExample: ConversationResponse = {
  id: 'conv_01K3QZ8N6V',
  object: 'conversation',
  title: 'Invoice shows the wrong amount',
  status: 'resolved',
  supportLevel: 'human',
  channel: { id: 'chan_01K1EMAIL', name: 'Support inbox', type: 'email' },
  contact: { id: 'ct_01K3QZ7A2B', name: 'Ada Lovelace', email: 'ada@example.com' },
  assignedToUser: { id: 'user_01K0SAM', name: 'Sam Field', email: 'sam@example.com' },
  topics: [{ id: 'top_01K2CD', name: 'Billing', color: '#ff8800' }],
  tags: [{ id: 'tag_01K2AB', name: 'vip' }],
  urgencyScore: 2,
  lastMessagePreview: 'Hello, my invoice of January shows the wrong amount.',
  createdAt: '2026-01-31T09:15:02Z',
  updatedAt: '2026-01-31T12:40:57Z',
  waitingSince: null,
  firstHumanReplyAt: '2026-01-31T12:40:50Z',
  resolvedAt: '2026-01-31T12:40:57Z',
  messages: [
    {
      id: 'msg_01K3QZ8P7W',
      object: 'message',
      role: 'user',
      content: 'Hello, my invoice of January shows the wrong amount.',
      createdAt: '2026-01-31T09:15:02Z',
      sentAt: null,
      attachments: [{ id: 'att_01K3QZ8R9X', filename: 'invoice.pdf' }],
    },
    {
      id: 'msg_01K3R2D5Y1',
      object: 'message',
      role: 'human',
      content: 'You are right, a corrected one is on its way.',
      createdAt: '2026-01-31T12:40:50Z',
      sentAt: '2026-01-31T12:40:52Z',
      attachments: [],
    },
  ],
};
