import type { ConversationDocument } from '../../../../shared/documents/conversation.ts';
import type { Message } from '../../../../shared/documents/message.ts';
import { presentAttachments } from '../messages/presenter.ts';
import { toSeconds, toSecondsOrNull } from '../timestamps.ts';
import { preview } from './preview.ts';
import type { VisibleConversation } from './query.ts';
import type { ConversationHead, EmbeddedMessage } from './schema.ts';

type Status = ConversationDocument['own']['status'];

/**
 * Everything of a conversation but its messages, the first of which is `opening`. `status` is an argument, as
 * archived conversations are not shown.
 */
export const presentConversationHead = (
  { own, joined }: VisibleConversation,
  status: Exclude<Status, 'archived'>,
  opening: Pick<EmbeddedMessage, 'content'> | undefined,
): ConversationHead => ({
  id: own.id,
  object: 'conversation',
  title: own.title,
  status,
  supportLevel: own.supportLevel,
  channel: {
    id: joined.channel.id,
    name: joined.channel.name,
    type: joined.channel.type === 'chatbot' ? 'widget' : joined.channel.type,
  },
  contact: {
    id: `ct_${own.contactId.slice('con_'.length)}`,
    name: joined.contact?.name ?? null,
    email: joined.contact?.email ?? null,
  },
  assignedToUser: joined.assignedUser && {
    id: joined.assignedUser.id,
    name: joined.assignedUser.name,
    email: joined.assignedUser.email,
  },
  topics: joined.topics.map(({ id, name, color }) => ({ id, name, color })),
  tags: joined.tags.map(({ id, name }) => ({ id, name })),
  urgencyScore: own.urgencyScore,
  lastMessagePreview: previewOf(opening?.content ?? null),
  createdAt: toSeconds(own.createdAt),
  updatedAt: toSeconds(own.updatedAt),
  waitingSince: toSecondsOrNull(own.waitingSince),
  firstHumanReplyAt: toSecondsOrNull(own.firstHumanReplyAt),
  resolvedAt: toSecondsOrNull(own.resolvedAt),
});

const previewOf = (content: string | null) => (content === null ? null : preview(content));

export const presentEmbeddedMessage = (
  own: Pick<Message, 'id' | 'role' | 'content' | 'createdAt' | 'sentAt' | 'attachments'>,
): EmbeddedMessage => ({
  id: own.id,
  object: 'message',
  role: own.role,
  content: own.content,
  createdAt: toSeconds(own.createdAt),
  // Only what goes out is delivered, whatever the bus says of a contact's message.
  sentAt: own.role === 'user' ? null : toSecondsOrNull(own.sentAt),
  attachments: presentAttachments(own.attachments),
});
