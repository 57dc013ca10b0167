import { z } from 'zod';
import { messageRoles, messageTypes } from '../../../../shared/documents/message.ts';
import { listSchema } from '../../paging/list-envelope.ts';
import { pageParameters } from '../../paging/page-parameters.ts';
import { secondsSchema } from '../fields.ts';

export const messageListQuery = z.object(pageParameters);

/** Descriptions of the fields that a message has both in a list and inside a conversation. */
export const messageTexts = {
  id: 'Id of the message.',
  role: '`user` is the contact, `assistant` the AI, `human` a teammate, `system` the service itself.',
  content: 'Plain text; null if there is none.',
  createdAt: 'When the message was recorded.',
  attachments: 'Its files, but for those inside the text.',
};

export const attachmentSchema = z
  .strictObject({
    id: z.string().describe('Id of the attachment.'),
    filename: z.string().describe('The original name, as given by the sender.'),
  })
  .meta({ id: 'Attachment', description: 'A file that came with a message.' });

const name = z.string().nullable().describe('Display name; null if none is known.');
const email = z.string().nullable().describe('Address; null if none is known.');
const author = z
  .discriminatedUnion('type', [
    z
      .strictObject({
        type: z.literal('contact').describe('The contact.'),
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
        id: z.string().startsWith('agent_').describe('Id of the agent.'),
        name,
        email: z.null().describe('Always null: agents have no address.'),
      })
      .meta({ id: 'AgentAuthor', description: 'An AI agent as the sender.' }),
  ])
  .meta({ id: 'Author', description: 'The sender of a message.' });

/** A message in a list; inside a conversation it has another shape. */
const messageItemSchema = z
  .strictObject({
    id: z.string().startsWith('msg_').describe(messageTexts.id),
    object: z.literal('message').describe('Always `message`.'),
    conversationId: z.string().startsWith('conv_').describe('Id of the conversation that it belongs to.'),
    type: z.enum(messageTypes).describe('The medium.'),
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
