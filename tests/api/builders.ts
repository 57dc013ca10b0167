import { createHash } from 'node:crypto';
import type { Db } from 'mongodb';
import { watermarksOf } from '../../shared/control/progress.ts';
import type { ChannelJoined } from '../../shared/documents/channel.ts';
import { exampleConfig } from '../../shared/documents/channel-config.ts';
import type { ConversationJoined } from '../../shared/documents/conversation.ts';
import type { MessageJoined } from '../../shared/documents/message.ts';
import {
  type EntityState,
  examples,
  type Kind,
  resources,
  states,
} from '../../shared/documents/resources.ts';
import type { TicketJoined } from '../../shared/documents/ticket.ts';

type Joined = {
  ticket: TicketJoined;
  conversation: ConversationJoined;
  message: MessageJoined;
  channel: ChannelJoined;
};
type JoinedOf<K extends Kind> = K extends keyof Joined ? Joined[K] : Record<never, never>;

export const at = '2026-01-01T12:00:00.000Z';

type Fields = { id: string } & Record<string, unknown>;
type Options<K extends Kind> = { orgId?: string; joined?: JoinedOf<K> };

/** A document as the projector stores it: the parsed state of an event, with its sort keys. */
export function document<K extends Kind>(
  kind: K,
  data: Fields,
  { orgId = 'org_a', joined = {} as JoinedOf<K> }: Options<K> = {},
) {
  const state = states[kind].parse(data) as EntityState[K];
  return {
    _id: data.id,
    orgId,
    version: 1,
    revision: 1,
    position: null,
    state,
    joined,
    refs: [],
    ...resources[kind].sortKeys(state),
  };
}

/** Builds documents of a kind: the example state of its events, with these fields. */
const builder =
  <K extends Kind>(kind: K, defaults: Record<string, unknown>, joined: () => JoinedOf<K>) =>
  (fields: Fields, options: Options<K> = {}) =>
    document(kind, { ...examples[kind], ...defaults, ...fields }, { joined: joined(), ...options });

const times = { createdAt: at, updatedAt: at };
const labels = { tagIds: ['tag_1'], topicIds: ['top_1'] };

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

export const ticket = builder('ticket', { ...labels, ...times, title: 'Printer on fire' }, ticketJoined);

export const conversationJoined = (joined: Partial<ConversationJoined> = {}): ConversationJoined => ({
  channel: { id: 'chan_1', name: 'Support', type: 'email', dataRetentionDays: null },
  contact: { name: 'Ada', email: 'ada@example.com' },
  assignedUser: { id: 'user_1', name: null, email: 'sam@example.com' },
  topics: [{ id: 'top_1', name: 'Billing', color: '#ff0000' }],
  tags: [{ id: 'tag_1', name: 'vip' }],
  ...joined,
});

export const conversation = builder(
  'conversation',
  { ...labels, ...times, title: 'Printer on fire', waitingSince: '2026-01-01T12:00:00.999Z' },
  conversationJoined,
);

export const message = builder(
  'message',
  {
    type: 'chat',
    attachments: [
      { id: 'att_1', filename: 'photo.png', inline: false },
      { id: 'att_2', filename: 'logo.png', inline: true },
    ],
    createdAt: at,
  },
  () => ({ author: { name: 'Ada', email: 'ada@example.com' } }),
);

/** Messages of a conversation, 10 ms apart. */
export function thread(
  conversationId: string,
  length: number,
  content = 'Lorem ipsum dolor sit amet. '.repeat(12),
) {
  const first = message({ id: 'msg_0', conversationId, content });
  return Array.from({ length }, (_, index) => {
    const id = `msg_${String(index).padStart(6, '0')}`;
    const createdAt = new Date(first.state.createdAt.getTime() + index * 10);
    const byCreated = `${createdAt.toISOString()}${id}`;
    return { ...first, _id: `${conversationId}${id}`, state: { ...first.state, id, createdAt }, byCreated };
  });
}

/** The configuration of an inbox to which mail is forwarded. */
export const forwardingConfig = {
  ...exampleConfig.email,
  provider: 'forwarding',
  connection: null,
  sendingDomain: { hosted: true },
  liveAt: at,
};

export const channel = builder(
  'channel',
  { type: 'form', name: 'Website', ...times, ...exampleConfig, email: forwardingConfig },
  () => ({ agent: { id: 'agent_1', name: 'Bot', disabled: false }, routesTo: null }),
);

export const qa = builder('qa', times, () => ({}));

const builders: { [K in Kind]?: (fields: Fields, options?: Options<K>) => ReturnType<typeof document<K>> } = {
  ticket,
  conversation,
  message,
  channel,
  qa,
};

/** A document of any kind. A kind that has no builder here embeds nothing. */
export const anyOf = (kind: Kind, fields: Fields, owner: { orgId?: string } = {}) =>
  builders[kind]?.(fields, owner) ?? document(kind, { ...examples[kind], ...fields }, owner);

export const apiKey = (token: string, fields: Fields, options: Options<'apiKey'> = {}) => {
  const tokenSha256 = createHash('sha256').update(token).digest('hex');
  return document('apiKey', { ...examples.apiKey, tokenSha256, createdAt: at, ...fields }, options);
};

/** Sets the watermark of generation 1, which the API returns as `Data-As-Of`. */
export async function dataAsOf(control: Db, completeTo: Date, generation = 1): Promise<void> {
  await watermarksOf(control).updateOne({ _id: generation }, { $set: { completeTo } }, { upsert: true });
}

type Stored = { _id: string };

/** Documents by their kind. */
export type Documents = Partial<Record<Kind, Stored[]>>;

/** Writes documents of one kind, in batches that fit into one message to the store. */
export async function store(database: Db, kind: Kind, documents: Stored[]): Promise<void> {
  const batchSize = 5_000;
  for (let start = 0; start < documents.length; start += batchSize) {
    const batch = documents.slice(start, start + batchSize);
    await database.collection<Stored>(resources[kind].collection).insertMany(batch, { ordered: false });
  }
}

/** Writes documents of several kinds. */
export async function fill(database: Db, documents: Documents): Promise<void> {
  for (const kind of Object.keys(documents) as Kind[]) await store(database, kind, documents[kind] ?? []);
}
