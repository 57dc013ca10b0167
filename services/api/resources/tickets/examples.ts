import { exampleCursor } from '../../paging/page-parameters.ts';
import type { TicketItem, TicketResponse } from './schema.ts';

/** For the OpenAPI document; its examples use the same ids throughout. */
const shared = {
  id: 'ti_01K3QZ8M4T',
  object: 'ticket',
  title: 'Invoice shows the wrong amount',
  status: 'resolved',
  requester: {
    id: 'con_01K3QZ7A2B',
    name: 'Ada Lovelace',
    email: { email: 'ada@example.com', verified: true },
  },
  tags: [{ id: 'tag_01K2AB', name: 'vip' }],
  topics: [{ id: 'top_01K2CD', name: 'Billing' }],
  estimatedScore: 4,
  createdAt: '2026-01-31T09:15:02Z',
  updatedAt: '2026-01-31T12:40:57Z',
} as const satisfies Partial<TicketResponse>;

const lists = { tags: [...shared.tags], topics: [...shared.topics] };

export const ticketExample: TicketResponse = {
  ...shared,
  ...lists,
  conversations: [
    {
      id: 'conv_01K3QZ8N6V',
      object: 'conversation',
      ticketId: 'ti_01K3QZ8M4T',
      role: 'primary',
      status: 'resolved',
      createdAt: '2026-01-31T09:15:02Z',
      updatedAt: '2026-01-31T12:40:57Z',
    },
    {
      id: 'conv_01K3R07C3D',
      object: 'conversation',
      ticketId: 'ti_01K3QZ8M4T',
      role: 'side',
      status: 'archived',
      createdAt: '2026-01-31T10:02:44Z',
      updatedAt: '2026-01-31T11:30:00Z',
    },
  ],
};

const item: TicketItem = {
  ...shared,
  ...lists,
  conversations: ticketExample.conversations.map(({ id, role }) => ({ id, role })),
};

export const ticketListExample = {
  object: 'list' as const,
  data: [item],
  hasMore: true,
  nextCursor: exampleCursor,
  url: '/v1/tickets',
};
