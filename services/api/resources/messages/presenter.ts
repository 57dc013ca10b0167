import type { Message, MessageDocument } from '../../../../shared/documents/message.ts';
import type { StateAndJoined } from '../find-by-id.ts';
import { toSeconds } from '../fields.ts';
import type { Attachment, MessageItem } from './schema.ts';

type StoredMessage = StateAndJoined<MessageDocument>;

export const presentMessageItem = ({ state, joined }: StoredMessage): MessageItem => ({
  id: state.id,
  object: 'message',
  conversationId: state.conversationId,
  type: state.type,
  role: state.role,
  author: presentAuthor({ state, joined }),
  content: state.content,
  attachments: presentAttachments(state.attachments),
  createdAt: toSeconds(state.createdAt),
});

/** Inline files are part of the text, so they are not listed as attachments. */
export const presentAttachments = (attachments: Message['attachments']): Attachment[] =>
  attachments.filter(({ inline }) => !inline).map(({ id, filename }) => ({ id, filename }));

/** A sender whose document is missing keeps its type and id. */
function presentAuthor({ state: { author }, joined }: StoredMessage): MessageItem['author'] {
  if (!author) return null;
  const name = joined.author?.name ?? null;
  const email = joined.author?.email ?? null;
  switch (author.type) {
    case 'contact':
      return { type: 'contact', id: author.id, name, email };
    case 'user':
      return { type: 'user', id: author.id, name, email };
    case 'ai_agent':
      return { type: 'ai_agent', id: author.id, name, email: null };
  }
}
