import type { ConversationDocument } from '../../../../shared/documents/conversation.ts';
import type { Message } from '../../../../shared/documents/message.ts';
import type { Retention } from '../../../../shared/documents/visibility.ts';
import { pick } from '../../../../shared/runtime/pick.ts';
import { toSeconds, toSecondsOrNull } from '../fields.ts';
import type { StateAndJoined } from '../find-by-id.ts';
import { presentAttachments } from '../messages.ts';
import { preview } from './preview.ts';
import type { ConversationHead, EmbeddedMessage } from './schema.ts';

/** A conversation that the API may show. Its channel is known, because the retention of the channel hides messages. */
export type VisibleConversation = StateAndJoined<ConversationDocument> & { joined: { channel: Retention } };

type Status = ConversationDocument['state']['status'];

/**
 * A conversation without its messages; `opening` is the first message. `status` is a separate argument, so that the
 * type excludes archived conversations.
 */
export const presentConversationHead = (
  { state, joined }: VisibleConversation,
  status: Exclude<Status, 'archived'>,
  opening: Pick<EmbeddedMessage, 'content'> | undefined,
): ConversationHead => ({
  id: state.id,
  object: 'conversation',
  title: state.title,
  status,
  supportLevel: state.supportLevel,
  channel: {
    ...pick(joined.channel, ['id', 'name']),
    type: joined.channel.type === 'chatbot' ? 'widget' : joined.channel.type,
  },
  contact: {
    // A conversation names its contact `ct_…`, although other resources and the events name the contact `con_…`.
    id: `ct_${state.contactId.slice('con_'.length)}`,
    name: joined.contact?.name ?? null,
    email: joined.contact?.email ?? null,
  },
  assignedToUser: joined.assignedUser ? presentUser(joined.assignedUser) : null,
  topics: joined.topics.map(({ id, name, color }) => ({ id, name, color: color ?? null })),
  tags: joined.tags.map(({ id, name }) => ({ id, name })),
  urgencyScore: state.urgencyScore ?? null,
  lastMessagePreview: typeof opening?.content === 'string' ? preview(opening.content) : null,
  createdAt: toSeconds(state.createdAt),
  updatedAt: toSeconds(state.updatedAt),
  waitingSince: toSecondsOrNull(state.waitingSince),
  firstHumanReplyAt: toSecondsOrNull(state.firstHumanReplyAt),
  resolvedAt: toSecondsOrNull(state.resolvedAt),
});

const presentUser = ({ id, name, email }: NonNullable<VisibleConversation['joined']['assignedUser']>) => ({
  id,
  name: name ?? null,
  email,
});

export const presentEmbeddedMessage = (
  state: Pick<Message, 'id' | 'role' | 'content' | 'createdAt' | 'sentAt' | 'attachments'>,
): EmbeddedMessage => ({
  id: state.id,
  object: 'message',
  role: state.role,
  content: state.content ?? null,
  createdAt: toSeconds(state.createdAt),
  // Only outbound messages are delivered. The event of a contact's message may have `sentAt`, which has no meaning.
  sentAt: state.role === 'user' ? null : toSecondsOrNull(state.sentAt),
  attachments: presentAttachments(state.attachments),
});
