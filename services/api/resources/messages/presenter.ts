import type { Message, MessageDocument } from '../../../../shared/documents/message.ts';
import { toSeconds } from '../timestamps.ts';
import type { Attachment, MessageItem } from './schema.ts';

type Shown = Pick<MessageDocument, 'state' | 'joined'>;

export const presentMessageItem = ({ state, joined }: Shown): MessageItem => ({
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

/** Inline files are part of the text, not attachments to it. */
export const presentAttachments = (attachments: Message['attachments']): Attachment[] =>
  attachments.filter(({ inline }) => !inline).map(({ id, filename }) => ({ id, filename }));

/** The sender as far as it is known: a missing one keeps its type and id. */
function presentAuthor({ state: { author }, joined }: Shown): MessageItem['author'] {
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
