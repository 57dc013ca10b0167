import type { QaItem } from './schema.ts';

const qa: QaItem = {
  id: 'qa_01K0ZXC5B7',
  object: 'qa',
  question: 'How do I change my billing address?',
  questionVariations: ['Can I update my address?', 'Where is my billing address?'],
  answer: 'Open Settings, then Billing, and edit the address.',
  agentId: null,
  createdAt: '2025-11-03T08:00:00.000Z',
  updatedAt: '2026-01-12T16:20:31.250Z',
};

export const qaListExample = {
  object: 'list' as const,
  data: [qa],
  hasMore: false,
  nextCursor: null,
  url: '/v1/knowledge/qa',
};
