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

/** The value with secrets of the source system in every object, which must never be stored, logged or shown. */
const withSecrets = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withSecrets);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, field]) => [name, withSecrets(field)] as const);
  const secrets = { identitySecret: 'SECRET-1', credentials: 'SECRET-2', syncState: { token: 'SECRET-3' } };
  return { ...Object.fromEntries(entries), ...secrets };
};

const chatbotBlock = {
  layout: 'floating',
  languages: { default: 'en', enabled: ['en'] },
  routing: {
    entry: 'ai',
    eagerness: 'neutral',
    escalation: { primary: 'live_chat', fallback: 'email' },
    contactCapture: { name: true, phone: false, verifyEmail: true },
  },
  allowedDomains: ['example.com'],
  audience: { ruleCount: 1, fallback: 'open' },
  identityRequired: true,
  privacyOptIn: 'explicit',
};
const formBlock = {
  title: 'Contact us',
  fields: [{ label: 'Mail', type: 'email', required: true }],
  routesToChannelId: 'chan_1',
  allowedDomains: ['example.com'],
};

/** The state of a channel of each type, and of each form that its configuration may take, with secrets everywhere. */
export const channelsWithSecrets = [
  ...[
    { aiMode: { mode: 'off' }, sendingDomain: { hosted: true } },
    { aiMode: { mode: 'approval' }, sendingDomain: { domain: 'example.com', verificationStatus: 'failed' } },
    { aiMode: { mode: 'autopilot', replyDelayMinutes: 1, aiDisplayName: 'Robin' } },
  ].map((block) => ({ type: 'email', email: { ...states.channel.email, ...block } })),
  { type: 'chatbot', chatbot: chatbotBlock },
  { type: 'form', form: formBlock },
].map((fields, index) =>
  created(
    'channel',
    `chan_secret_${index}`,
    withSecrets({ ...states.channel, ...fields }) as object as Record<string, unknown>,
  ),
);
