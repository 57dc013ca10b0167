import { z } from 'zod';
import { messageRoles, messageTypes } from '../../../../shared/documents/message.ts';
import { listSchema } from '../../paging/list-envelope.ts';
import { pageParameters } from '../../paging/page-parameters.ts';
import { secondsSchema } from '../fields.ts';

export const messageListQuery = z.object(pageParameters);

/** Descriptions of the fields that a message has both in a list and inside a conversation. */
export const messageTexts = {
  id: 'Id of the message.',
  role: 'Who wrote the message. `user`: the contact. `assistant`: the AI. `human`: a teammate. `system`: the service itself.',
  content: 'The text of the message, without formatting; null if it has none.',
  createdAt: 'When the message was recorded.',
  attachments: 'The attached files, except files that are shown inside the text.',
};

export const attachmentSchema = z
  .strictObject({
    id: z.string().describe('Id of the attachment.'),
    filename: z.string().describe('The original name of the file, as given by the sender.'),
  })
  .meta({ id: 'Attachment', description: 'A file attached to a message.' });

const name = z.string().nullable().describe('The display name; null if it is unknown.');
const email = z.string().nullable().describe('The email address; null if it is unknown.');
const author = z
  .discriminatedUnion('type', [
    z
      .strictObject({
        type: z.literal('contact').describe('A contact.'),
        id: z.string().startsWith('con_').describe('Id of the contact.'),
        name,
        email,
      })
      .meta({ id: 'ContactAuthor', description: 'A contact as the sender.' }),
    z
      .strictObject({
        type: z.literal('user').describe('A teammate.'),
        id: z.string().startsWith('user_').describe('Id of the teammate.'),
        name,
        email,
      })
      .meta({ id: 'UserAuthor', description: 'A teammate as the sender.' }),
    z
      .strictObject({
        type: z.literal('ai_agent').describe('An AI agent.'),
        id: z.string().startsWith('agent_').describe('Id of the AI agent.'),
        name,
        email: z.null().describe('Always null: AI agents have no email address.'),
      })
      .meta({ id: 'AgentAuthor', description: 'An AI agent as the sender.' }),
  ])
  .meta({ id: 'Author', description: 'The sender of a message.' });

/** A message in a list; inside a conversation it has another shape. */
const messageItemSchema = z
  .strictObject({
    id: z.string().startsWith('msg_').describe(messageTexts.id),
    object: z.literal('message').describe('Always `message`.'),
    conversationId: z
      .string()
      .startsWith('conv_')
      .describe('Id of the conversation to which the message belongs.'),
    type: z.enum(messageTypes).describe('The medium of the message.'),
    role: z.enum(messageRoles).describe(messageTexts.role),
    author: author.nullable().describe('The sender; null for system messages.'),
    content: z.string().nullable().describe(messageTexts.content),
    attachments: z.array(attachmentSchema).describe(messageTexts.attachments),
    createdAt: secondsSchema.describe(messageTexts.createdAt),
  })
  .meta({ id: 'Message', description: 'A message in a list.' });
export const messageListSchema = listSchema('MessageList', messageItemSchema);

export type MessageItem = z.output<typeof messageItemSchema>;
export type Attachment = z.output<typeof attachmentSchema>;
