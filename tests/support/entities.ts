import type { Kind } from '../../shared/documents/resources.ts';
import type { Event } from './events.ts';
import { examples } from './example-states.ts';

const instant = '2026-01-01T00:00:00Z';
const times = { createdAt: instant, updatedAt: instant };

/** The fields of an email channel that do not depend on its provider. */
export const mailbox = {
  inbox: 'help@example.com',
  displayName: 'Help',
  aiMode: { mode: 'off' },
  signatures: { useForNewMessages: true, useForReplies: false },
  liveAt: instant,
};

export const formBlock = {
  title: 'Contact us',
  fields: [{ label: 'Mail', type: 'email', required: true }],
  allowedDomains: [],
};

export const chatbotBlock = {
  layout: 'floating',
  languages: { default: 'en', enabled: ['en'] },
  routing: {
    entry: 'ai',
    eagerness: 'neutral',
    escalation: { primary: 'live_chat' },
    contactCapture: { name: true, phone: false, verifyEmail: true },
  },
  allowedDomains: ['example.com'],
  audience: { ruleCount: 2, fallback: 'open' },
  identityRequired: false,
  privacyOptIn: 'none',
};

const enabled = { enabled: true };
const settings = ['aiSummary', 'urgency', 'insights', 'topics', 'aiDisclosure'].map((name) => [
  name,
  enabled,
]);

/** A state of each kind with every required field and more. A test changes the fields that it is about. */
export const states = {
  ...examples,
  apiKey: { ...examples.apiKey, name: 'Key', tokenSha256: 'ab'.repeat(32), createdAt: instant },
  contact: { ...examples.contact, name: 'Ada', email: { email: 'ada@example.com', verified: true } },
  user: { ...examples.user, name: 'Sam', email: 'sam@example.com' },
  tag: { ...examples.tag, name: 'billing' },
  topic: { ...examples.topic, name: 'Billing', color: '#ff0000' },
  ticket: { ...examples.ticket, title: 'Broken', ...times },
  channel: {
    ...examples.channel,
    name: 'Support',
    ...times,
    settings: { ...Object.fromEntries(settings), utmTagging: { enabled: false }, autoResolve: {} } as object,
    email: {
      ...mailbox,
      provider: 'microsoft',
      connection: {
        status: 'connected',
        connectedAt: instant,
        credentials: 'SECRET-1',
        syncState: 'SECRET-2',
      },
    },
  },
  conversation: { ...examples.conversation, title: 'Broken', status: 'needs_first_response', ...times },
  message: {
    ...examples.message,
    type: 'email',
    createdAt: instant,
    author: { type: 'contact', id: 'con_1' },
    content: 'Hello',
  },
  qa: { ...examples.qa, question: 'How?', questionVariations: ['b', 'a'], answer: 'So.', ...times },
} satisfies Record<Kind, Record<string, unknown>>;

/** An event with the full state of an entity of `org_1`. */
export const created = (
  kind: Kind,
  id: string,
  changes: Record<string, unknown> = {},
  version = 1,
): Event => ({
  kind,
  id,
  orgId: 'org_1',
  version,
  op: version === 1 ? 'created' : 'updated',
  data: { ...states[kind], ...changes, id },
  time: new Date(),
});
