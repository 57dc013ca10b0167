import type { Kind } from '../../shared/documents/document.ts';
import { attributes, bytes, record } from './example-records.ts';

const at = '2026-01-01T00:00:00.123456789+01:00';
const email = {
  inbox: 'help@example.com',
  displayName: 'Help',
  provider: 'microsoft',
  connection: { status: 'connected', lastSyncedAt: at, credentials: 'canary', syncState: { a: 'canary' } },
  aiMode: { mode: 'off' },
  signatures: { useForNewMessages: true, useForReplies: false },
};
const off = { enabled: false };
const settings = {
  aiSummary: off,
  urgency: off,
  insights: off,
  topics: off,
  aiDisclosure: off,
  utmTagging: off,
  autoResolve: {},
};

/** One valid state of each kind, with only the required fields and those that the tests need. */
export const examples: { [K in Kind]: { id: string } & Record<string, unknown> } = {
  apiKey: {
    id: 'key_1',
    name: 'CI',
    mode: 'live',
    tokenSha256: 'AB'.repeat(32),
    access: 'read',
    createdAt: at,
  },
  contact: { id: 'con_1', email: { email: 'a@example.com', verified: false } },
  user: { id: 'user_1', email: 'b@example.com' },
  agent: { id: 'agent_1', name: 'Robin', disabled: false },
  tag: { id: 'any', name: 'Billing' },
  topic: { id: 'any', name: 'Refunds', color: '#12aBcd' },
  channel: { id: 'chan_1', type: 'email', name: 'Help', createdAt: at, updatedAt: at, settings, email },
  ticket: {
    id: 'ti_1',
    title: 'T',
    status: 'open',
    requesterId: 'con_1',
    tagIds: [],
    topicIds: [],
    createdAt: at,
    updatedAt: at,
  },
  conversation: {
    id: 'conv_1',
    ticketId: 'ti_1',
    role: 'primary',
    title: 'T',
    status: 'archived',
    supportLevel: 'ai',
    channelId: 'chan_1',
    contactId: 'con_1',
    topicIds: [],
    tagIds: [],
    createdAt: at,
    updatedAt: at,
  },
  message: {
    id: 'msg_1',
    conversationId: 'conv_1',
    type: 'chat',
    role: 'user',
    attachments: [],
    createdAt: at,
  },
  qa: { id: 'any', question: 'Q', questionVariations: [], answer: 'A', createdAt: at, updatedAt: at },
};

/** A record with the state of an entity of that kind. */
export const withData = (kind: Kind, data: { id: string } & Record<string, unknown>) =>
  record(bytes({ ...attributes, type: `support.${kind}.created.v1`, subject: data.id, data }), {}, data.id);
