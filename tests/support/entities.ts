import type { Event } from './events.ts';
import type { Kind } from '../../shared/documents/document.ts';

const instant = '2026-01-01T00:00:00Z';

/** Own states with every field that the bus requires, to be changed where a test cares. */
const states = {
  contact: { name: 'Ada', email: { email: 'ada@example.com', verified: true } },
  tag: { name: 'billing' },
  ticket: {
    title: 'Broken',
    status: 'open',
    requesterId: 'con_1',
    tagIds: [],
    topicIds: [],
    createdAt: instant,
    updatedAt: instant,
  },
  channel: {
    type: 'email',
    name: 'Support',
    createdAt: instant,
    updatedAt: instant,
    settings: {
      aiSummary: { enabled: true },
      urgency: { enabled: true },
      insights: { enabled: true },
      topics: { enabled: true },
      aiDisclosure: { enabled: true },
      utmTagging: { enabled: false },
      autoResolve: {},
    },
    email: {
      inbox: 'help@example.com',
      displayName: 'Help',
      provider: 'microsoft',
      connection: {
        status: 'connected',
        connectedAt: instant,
        credentials: 'SECRET-1',
        syncState: 'SECRET-2',
      },
      aiMode: { mode: 'off' },
      signatures: { useForNewMessages: true, useForReplies: false },
      liveAt: instant,
    },
  },
  conversation: {
    ticketId: 'ti_1',
    role: 'primary',
    title: 'Broken',
    status: 'needs_first_response',
    supportLevel: 'ai',
    channelId: 'chan_1',
    contactId: 'con_1',
    topicIds: [],
    tagIds: [],
    createdAt: instant,
    updatedAt: instant,
  },
  message: {
    conversationId: 'conv_1',
    type: 'email',
    role: 'user',
    author: { type: 'contact', id: 'con_1' },
    content: 'Hello',
    attachments: [],
    createdAt: instant,
  },
} satisfies Partial<Record<Kind, Record<string, unknown>>>;

/** An event that carries the full state of an entity of `org_1`. */
export const created = (
  kind: keyof typeof states,
  id: string,
  changes: Record<string, unknown> = {},
  version = 1,
): Event => ({
  kind,
  id,
  orgId: 'org_1',
  version,
  op: version === 1 ? 'created' : 'updated',
  data: { id, ...states[kind], ...changes },
  time: new Date(),
});
