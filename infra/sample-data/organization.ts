import { createHash } from 'node:crypto';
import type { Faker } from '@faker-js/faker';
import { dayMs } from '../../shared/documents/instant.ts';
import { type Kind, kinds } from '../../shared/documents/resources.ts';
import { cases, tagNames } from './cases.ts';
import type { Event, SourceState } from './encode.ts';
import { change, type Entity, publish, remove } from './entity.ts';
import type { Random } from './random.ts';
import { createFaker, createMaker, type Make } from './states.ts';

/** A generated key with its token. The events carry only the token's hash. */
export type SampleKey = { token: string; name: string; rateLimit: number | null };

const keySpecs = [
  { name: 'Reporting', mode: 'live', access: 'read', rateLimit: null, state: 'active' },
  { name: 'Data warehouse', mode: 'live', access: 'full', rateLimit: null, state: 'active' },
  { name: 'Limited to 20 requests', mode: 'test', access: 'read', rateLimit: 20, state: 'active' },
  { name: 'Former reporting', mode: 'live', access: 'read', rateLimit: null, state: 'archived' },
  { name: 'Mistake', mode: 'test', access: 'full', rateLimit: null, state: 'deleted' },
] as const;

/** The lines that name the keys to try: a key without its own limit, and a key with one. */
export function keyLines(keys: SampleKey[]): string[] {
  const unlimited = keys.find(({ rateLimit }) => rateLimit === null);
  const limited = keys.find(({ rateLimit }) => rateLimit !== null);
  return [
    `API key: ${unlimited?.token}`,
    `API key of ${limited?.rateLimit} requests a window: ${limited?.token}`,
  ];
}

/** An organization with all entities that its tickets refer to, in memory: a few hundred bytes for each contact. */
export type Organization = {
  id: string;
  make: Make;
  faker: Faker;
  products: string[];
  contacts: Entity<'contact'>[];
  users: Entity<'user'>[];
  agents: Entity<'agent'>[];
  tags: Entity<'tag'>[];
  topics: Entity<'topic'>[];
  /** The channels that accept new tickets. */
  channels: Entity<'channel'>[];
};

const range = <T>(length: number, create: (index: number) => T) =>
  Array.from({ length }, (_, index) => create(index));

/** Creates an organization and its events: its entities, and at the end a few deletions. */
export function createOrganization(
  random: Random,
  contactCount: number,
  now: Date,
): { organization: Organization; keys: SampleKey[]; events: Event[] } {
  const id = random.id('org_');
  const make = createMaker({ random, orgId: id, now });
  const faker = createFaker(random);
  const contacts = range(contactCount, () => make('contact'));
  const users = range(6, () => make('user'));
  const agents = range(3, (index) =>
    make('agent', { name: faker.person.firstName(), disabled: index === 2 }),
  );
  const tags = tagNames.map((name) => make('tag', { name }));
  const topicNames = [...new Set(cases.map(({ topic }) => topic))];
  const topics = topicNames.map((name) => make('topic', { name }));
  const { open, closed } = createChannels(random, make, now);
  const products = range(6, () => faker.commerce.product().toLowerCase());
  const organization = { id, make, faker, products, contacts, users, agents, tags, topics, channels: open };
  const from = new Date(now.getTime() - 420 * dayMs);
  const yesterday = new Date(now.getTime() - dayMs);
  const { keys, events } = createKeys(random, organization, from, yesterday);
  const entities = [...contacts, ...users, ...agents, ...tags, ...topics];
  events.push(...entities.map((entity) => publish(entity, from)));
  const channels = [...open, ...closed];
  events.push(...channels.map((channel) => publish(channel, new Date(channel.state.updatedAt))));
  events.push(...createQas(make, from));
  // Tickets still refer to these entities.
  const deleted = [contacts[0], users[0], tags.at(-1), closed.at(-1)].filter(
    (entity) => entity !== undefined,
  );
  events.push(...deleted.map((entity) => remove(entity, yesterday)));
  events.push(...createOthers(make, events, from));
  return { organization, keys, events };
}

function createKeys(random: Random, { make }: Organization, from: Date, to: Date) {
  const keys: SampleKey[] = [];
  const events: Event[] = [];
  for (const { state, ...spec } of keySpecs) {
    const { name, mode, rateLimit } = spec;
    const token = random.id(`svc_${mode}_`) + random.id('');
    const tokenSha256 = createHash('sha256').update(token).digest('hex');
    const createdAt = from.toISOString();
    // Sets every field, because `make` fills a missing one at random: it could archive the key or give it a rate limit.
    const fields: Required<Omit<SourceState<'apiKey'>, 'id'>> = {
      ...spec,
      tokenSha256,
      createdAt,
      archivedAt: null,
    };
    const key = make('apiKey', fields);
    keys.push({ token, name, rateLimit });
    events.push(publish(key, from));
    if (state === 'archived') events.push(change(key, { archivedAt: to.toISOString() }, to));
    if (state === 'deleted') events.push(remove(key, to));
  }
  return { keys, events };
}

/** Channels that accept tickets, and others in every state, with every issue. */
function createChannels(random: Random, make: Make, now: Date) {
  const ago = (days: number) => new Date(now.getTime() - days * dayMs).toISOString();
  const channel = (type: 'email' | 'chatbot' | 'form', fields: object, config: object = {}) => {
    const createdAt = ago(400);
    const updatedAt = ago(random.between(1, 300));
    const dataRetentionDays = random.pick([null, 0, 365, 730]);
    return make('channel', { type, createdAt, updatedAt, dataRetentionDays, ...fields, [type]: config });
  };
  const active = { archivedAt: null, pausedAt: null, resumedAt: null };
  const live = { liveAt: ago(300), sendingDomain: { hosted: true } };
  const connection = { status: 'connected', connectedAt: ago(301), lastSyncedAt: ago(1 / 1_440) };
  const inbox = (name: string, config: object) =>
    channel('email', { name, ...active }, { ...live, ...config });
  const open = [
    inbox('Support inbox', { provider: 'forwarding' }),
    channel('chatbot', { name: 'Website chat', ...active }),
    inbox('Orders inbox', { provider: 'microsoft', connection }),
    inbox('Sales inbox', { provider: 'google', connection }),
    channel('form', { name: 'Contact form', ...active }),
  ];
  const closed = [
    ...range(24, (index) => channel('email', { name: `Inbox ${index + 1}`, ...active })),
    ...(['email', 'chatbot', 'form'] as const).flatMap((type) => [
      channel(type, { name: `Paused ${type}`, ...active, pausedAt: ago(3) }),
      channel(type, { name: `Former ${type}`, archivedAt: ago(40) }),
    ]),
  ];
  return { open, closed };
}

/** The knowledge base. */
function createQas(make: Make, from: Date): Event[] {
  const times = { createdAt: from.toISOString(), updatedAt: from.toISOString() };
  const plain = (text: string) => text.replaceAll('{item}', 'product').replaceAll('{order}', 'an order');
  return cases.map(({ title, opening, answer }, index) => {
    const questionVariations = index % 3 === 0 ? [] : [plain(opening)];
    const texts = { question: plain(title), questionVariations, answer: plain(answer) };
    return publish(make('qa', { ...texts, ...times }), from);
  });
}

/**
 * Makes a few entities of each kind that neither the tickets nor the events so far cover. Only the schema of the kind
 * determines them.
 */
function createOthers(make: Make, events: Event[], from: Date): Event[] {
  const covered = new Set<Kind>(['ticket', 'conversation', 'message', ...events.map(({ kind }) => kind)]);
  return kinds
    .filter((kind) => !covered.has(kind))
    .flatMap((kind) => range(5, () => publish(make(kind), from)));
}
