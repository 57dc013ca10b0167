import { createHash } from 'node:crypto';
import type { Db } from 'mongodb';
import type { ConversationJoined } from '../../shared/documents/conversation.ts';
import type { Kind } from '../../shared/documents/document.ts';
import type { MessageJoined } from '../../shared/documents/message.ts';
import { resources, states, type EntityState } from '../../shared/documents/resources.ts';
import type { TicketJoined } from '../../shared/documents/ticket.ts';
import type { ChannelJoined } from '../../shared/documents/channel.ts';
import { watermarksOf } from '../../shared/store/generations.ts';

type Joined = {
  ticket: TicketJoined;
  conversation: ConversationJoined;
  message: MessageJoined;
  channel: ChannelJoined;
};
type JoinedOf<K extends Kind> = K extends keyof Joined ? Joined[K] : Record<never, never>;

export const at = '2026-01-01T12:00:00.000Z';

/** A document as the projector stores it: what the bus carries, parsed, with its sort keys. */
export function document<K extends Kind>(
  kind: K,
  data: { id: string } & Record<string, unknown>,
  { orgId = 'org_a', joined = {} as JoinedOf<K> }: { orgId?: string; joined?: JoinedOf<K> } = {},
) {
  const state = states[kind].parse(data) as EntityState[K];
  return {
    _id: data.id,
    orgId,
    version: 1,
    revision: 1,
    at: null,
    state,
    joined,
    refs: [],
    ...resources[kind].sortKeys(state),
  };
}

type Fields = { id: string } & Record<string, unknown>;
type Options<K extends Kind> = { orgId?: string; joined?: JoinedOf<K> };

export const ticketJoined = (joined: Partial<TicketJoined> = {}): TicketJoined => ({
  requester: { name: 'Ada', email: { email: 'ada@example.com', verified: true } },
  tags: [{ id: 'tag_1', name: 'vip' }],
  topics: [{ id: 'top_1', name: 'Billing' }],
  conversations: [
    {
      id: 'conv_1',
      role: 'primary',
      status: 'archived',
      createdAt: new Date(at),
      updatedAt: new Date(at),
      retainUntil: null,
    },
  ],
  moreAfter: null,
  ...joined,
});

export const ticket = (fields: Fields, options: Options<'ticket'> = {}) =>
  document(
    'ticket',
    {
      title: 'Printer on fire',
      status: 'open',
      requesterId: 'con_1',
      tagIds: ['tag_1'],
      topicIds: ['top_1'],
      createdAt: at,
      updatedAt: at,
      ...fields,
    },
    { joined: ticketJoined(), ...options },
  );

export const conversationJoined = (joined: Partial<ConversationJoined> = {}): ConversationJoined => ({
  channel: { id: 'chan_1', name: 'Support', type: 'email', dataRetentionDays: null },
  contact: { name: 'Ada', email: 'ada@example.com' },
  assignedUser: { id: 'user_1', name: null, email: 'sam@example.com' },
  topics: [{ id: 'top_1', name: 'Billing', color: '#ff0000' }],
  tags: [{ id: 'tag_1', name: 'vip' }],
  ...joined,
});

export const conversation = (fields: Fields, options: Options<'conversation'> = {}) =>
  document(
    'conversation',
    {
      ticketId: 'ti_1',
      role: 'primary',
      title: 'Printer on fire',
      status: 'needs_first_response',
      supportLevel: 'ai',
      channelId: 'chan_1',
      contactId: 'con_1',
      topicIds: ['top_1'],
      tagIds: ['tag_1'],
      createdAt: at,
      updatedAt: at,
      waitingSince: '2026-01-01T12:00:00.999Z',
      ...fields,
    },
    { joined: conversationJoined(), ...options },
  );

export const message = (fields: Fields, options: Options<'message'> = {}) =>
  document(
    'message',
    {
      conversationId: 'conv_1',
      type: 'chat',
      role: 'user',
      author: { type: 'contact', id: 'con_1' },
      content: 'Hello',
      attachments: [
        { id: 'att_1', filename: 'photo.png', inline: false },
        { id: 'att_2', filename: 'logo.png', inline: true },
      ],
      createdAt: at,
      ...fields,
    },
    { joined: { author: { name: 'Ada', email: 'ada@example.com' } }, ...options },
  );

const enabled = { enabled: true };
const settings = {
  aiSummary: enabled,
  urgency: enabled,
  insights: enabled,
  topics: enabled,
  aiDisclosure: enabled,
  utmTagging: { enabled: false },
  autoResolve: {},
};

export const formBlock = {
  title: 'Contact us',
  fields: [{ label: 'Mail', type: 'email', required: true }],
  allowedDomains: [],
};

export const emailBlock = {
  inbox: 'help@example.com',
  displayName: 'Help',
  provider: 'forwarding',
  sendingDomain: { hosted: true },
  aiMode: { mode: 'off' },
  signatures: { useForNewMessages: true, useForReplies: false },
  liveAt: at,
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

export const channel = (fields: Fields, options: Options<'channel'> = {}) =>
  document(
    'channel',
    {
      type: 'form',
      name: 'Website',
      createdAt: at,
      updatedAt: at,
      settings,
      form: formBlock,
      email: emailBlock,
      chatbot: chatbotBlock,
      ...fields,
    },
    { joined: { agent: { id: 'agent_1', name: 'Bot', disabled: false }, routesTo: null }, ...options },
  );

export const qa = (fields: Fields, options: Options<'qa'> = {}) =>
  document(
    'qa',
    {
      question: 'How?',
      questionVariations: ['b', 'a'],
      answer: 'So.',
      createdAt: at,
      updatedAt: at,
      ...fields,
    },
    options,
  );

export const apiKey = (token: string, fields: Fields, options: Options<'apiKey'> = {}) =>
  document(
    'apiKey',
    {
      name: 'Key',
      mode: 'live',
      tokenSha256: createHash('sha256').update(token).digest('hex'),
      access: 'read',
      createdAt: at,
      ...fields,
    },
    options,
  );

/** What readers of generation 1 are told as `Data-As-Of`. */
export async function dataAsOf(control: Db, completeTo: Date): Promise<void> {
  await watermarksOf(control).updateOne({ _id: 1 }, { $set: { completeTo } }, { upsert: true });
}

type Stored = { _id: string };

/** Writes documents of one kind, in batches that the store takes in one message. */
export async function store(database: Db, kind: Kind, documents: Stored[]): Promise<void> {
  const batchSize = 5_000;
  for (let start = 0; start < documents.length; start += batchSize) {
    const batch = documents.slice(start, start + batchSize);
    await database.collection<Stored>(resources[kind].collection).insertMany(batch, { ordered: false });
  }
}
