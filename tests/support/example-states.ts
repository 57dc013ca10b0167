import { type Kind, kinds, resources } from '../../shared/documents/resources.ts';
import { attributes, bytes, record } from './example-records.ts';

/** An instant with more digits than are kept. */
const createdAt = '2026-01-01T00:00:00.123456789+01:00';
const times = { createdAt, updatedAt: createdAt };
const disabled = { enabled: false };

/** One valid state of each kind, with only the required fields and those that the tests need. */
export const examples: Record<Kind, { id: string } & Record<string, unknown>> = {
  apiKey: { id: 'key_1', name: 'CI', mode: 'live', tokenSha256: 'AB'.repeat(32), access: 'read', createdAt },
  contact: { id: 'con_1', email: { email: 'a@example.com', verified: false } },
  user: { id: 'user_1', email: 'b@example.com' },
  agent: { id: 'agent_1', name: 'Robin', disabled: false },
  tag: { id: 'any', name: 'Billing' },
  topic: { id: 'any', name: 'Refunds', color: '#12aBcd' },
  channel: {
    id: 'chan_1',
    type: 'email',
    name: 'Help',
    ...times,
    settings: {
      aiSummary: disabled,
      urgency: disabled,
      insights: disabled,
      topics: disabled,
      aiDisclosure: disabled,
      utmTagging: disabled,
      autoResolve: {},
    },
    // With secrets that parsing drops.
    email: {
      inbox: 'help@example.com',
      displayName: 'Help',
      provider: 'microsoft',
      connection: {
        status: 'connected',
        lastSyncedAt: createdAt,
        credentials: 'canary',
        syncState: { a: 'canary' },
      },
      aiMode: { mode: 'off' },
      signatures: { useForNewMessages: true, useForReplies: false },
    },
  },
  ticket: {
    id: 'ti_1',
    title: 'T',
    status: 'open',
    requesterId: 'con_1',
    tagIds: [],
    topicIds: [],
    ...times,
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
    ...times,
  },
  message: { id: 'msg_1', conversationId: 'conv_1', type: 'chat', role: 'user', attachments: [], createdAt },
  qa: { id: 'any', question: 'Q', questionVariations: [], answer: 'A', ...times },
};

/** The id of the example in a collection. */
export const exampleId = (collection: string | undefined): string | undefined =>
  kinds.flatMap((kind) => (resources[kind].collection === collection ? [examples[kind].id] : []))[0];

/** A record with the state of an entity of that kind. */
export const withData = (kind: Kind, data: { id: string } & Record<string, unknown>) =>
  record(bytes({ ...attributes, type: `support.${kind}.created.v1`, subject: data.id, data }), {}, data.id);
