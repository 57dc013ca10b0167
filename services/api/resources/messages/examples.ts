import type { MessageItem } from './schema.ts';

const question: MessageItem = {
  id: 'msg_01K3QZ8P7W',
  object: 'message',
  conversationId: 'conv_01K3QZ8N6V',
  type: 'email',
  role: 'user',
  author: { type: 'contact', id: 'con_01K3QZ7A2B', name: 'Ada Lovelace', email: 'ada@example.com' },
  content: 'Hello, my invoice of January shows the wrong amount.',
  attachments: [{ id: 'att_01K3QZ8R9X', filename: 'invoice.pdf' }],
  createdAt: '2026-01-31T09:15:02Z',
};

const answer: MessageItem = {
  id: 'msg_01K3QZ9A4Z',
  object: 'message',
  conversationId: 'conv_01K3QZ8N6V',
  type: 'email',
  role: 'assistant',
  author: { type: 'ai_agent', id: 'agent_01K1BOT', name: 'Assistant', email: null },
  content: 'Thank you. A colleague is going to look at the invoice.',
  attachments: [],
  createdAt: '2026-01-31T09:15:20Z',
};

export const messageListExample = {
  object: 'list' as const,
  data: [question, answer],
  hasMore: false,
  nextCursor: null,
  url: `/v1/conversations/${question.conversationId}/messages`,
};
