import { createHash } from 'node:crypto';
import { kinds, type Kind } from '../../shared/documents/document.ts';
import { created } from '../support/entities.ts';
import { encode, idPrefixes, type Event, type Produced } from '../support/events.ts';
import { createRandom, type Random } from '../support/random.ts';

/** The number of entities of each kind. Each is published once, so this is the number of records too. */
export type Counts = Record<Kind, number>;

const fullCounts: Counts = {
  apiKey: 250,
  contact: 1_750,
  user: 250,
  agent: 250,
  tag: 500,
  topic: 500,
  channel: 250,
  ticket: 6_000,
  conversation: 6_000,
  message: 30_000,
  qa: 250,
};

/** The records of the full size. */
export const fullRecords = Object.values(fullCounts).reduce((sum, count) => sum + count, 0);

/** A share of the full size. Each kind that others refer to has at least one entity in each organization. */
export function countsFor(share: number, organizations: number): Counts {
  const minimum = (kind: Kind) => (kind === 'apiKey' || kind === 'qa' ? 1 : organizations);
  return Object.fromEntries(
    kinds.map((kind) => [kind, Math.max(minimum(kind), Math.round(fullCounts[kind] * share))]),
  ) as Counts;
}

export type DatasetOptions = { seed: number; organizations: number; counts: Counts };

/** The entities of a dataset by number. The seed determines all of them. */
export type Dataset = DatasetOptions & {
  idOf: (kind: Kind, number: number) => string;
  /** The event that publishes an entity; `version` 2 and above change its status. */
  event: (kind: Kind, number: number, version?: number, time?: Date) => Event;
};

/** The token of an API key, which belongs to the organization of its number. */
export const tokenOf = (number: number): string => `svc_live_bench${number}`;

/** When the first entity was created. Each later one of its kind was created a minute after. */
const startMs = Date.UTC(2026, 0, 1);

export function createDataset({ seed, organizations, counts }: DatasetOptions): Dataset {
  const ids = idsOf(createRandom(seed), counts);
  const idOf = (kind: Kind, number: number) =>
    ids[kind][number % counts[kind]] ?? `${idPrefixes[kind]}${number}`;
  const organizationOf = (kind: Kind, number: number) =>
    (kind === 'message' ? number % counts.conversation : number) % organizations;
  const event: Dataset['event'] = (kind, number, version = 1, time = new Date(startMs + number * 60_000)) => {
    const organization = organizationOf(kind, number);
    const random = createRandom(seed + number * kinds.length + kinds.indexOf(kind));
    const one = (other: Kind) =>
      idOf(other, organization + organizations * random.int(Math.floor(counts[other] / organizations)));
    const id = number < counts[kind] ? idOf(kind, number) : `${idPrefixes[kind]}${characters(random, 20)}`;
    const primaryOf = (other: Kind, index: number) => idOf(other, index);
    const state = stateOf(kind, { random, one, number, version, at: time.toISOString(), counts, primaryOf });
    return { ...created(kind, id, state, version), orgId: `org_${organization}`, time };
  };
  return { seed, organizations, counts, idOf, event };
}

/** CloudEvents in structured mode: every contender can read them as plain JSON. */
export const recordOf = (event: Event): Produced => encode(event, 'structured');

const idsOf = (random: Random, counts: Counts) =>
  Object.fromEntries(
    kinds.map((kind) => [
      kind,
      Array.from({ length: counts[kind] }, () => idPrefixes[kind] + characters(random, 20)),
    ]),
  ) as Record<Kind, string[]>;

type Context = {
  random: Random;
  /** Any entity of that kind in the same organization. */
  one: (kind: Kind) => string;
  primaryOf: (kind: Kind, number: number) => string;
  number: number;
  version: number;
  at: string;
  counts: Counts;
};

/** The fields that differ from the example states. They make records of a realistic size, 0.3 to 1.5 KB. */
function stateOf(kind: Kind, context: Context): Record<string, unknown> {
  const { random, one, primaryOf, number, version, at, counts } = context;
  const several = (other: Kind) => [...new Set(Array.from({ length: random.int(4) }, () => one(other)))];
  const times = { createdAt: at, updatedAt: at };
  switch (kind) {
    case 'apiKey':
      return {
        name: prose(random, 20),
        mode: 'live',
        tokenSha256: createHash('sha256').update(tokenOf(number)).digest('hex'),
        access: 'read',
        createdAt: at,
      };
    case 'contact':
      return {
        name: prose(random, 14),
        email: { email: `${characters(random, 12)}@example.com`, verified: true },
      };
    case 'user':
      return { name: prose(random, 14), email: `${characters(random, 10)}@example.com` };
    case 'agent':
      return { name: prose(random, 10), disabled: false };
    case 'tag':
      return { name: prose(random, 10) };
    case 'topic':
      return { name: prose(random, 12), color: '#2f6fde' };
    case 'channel':
      return { name: prose(random, 16), agentId: one('agent'), ...times };
    case 'ticket': {
      const status = version % 2 === 1 ? 'open' : 'resolved';
      const references = { requesterId: one('contact'), tagIds: several('tag'), topicIds: several('topic') };
      return { title: prose(random, 60), status, ...references, ...times };
    }
    case 'conversation':
      return {
        ticketId: primaryOf('ticket', number),
        title: prose(random, 60),
        status: version % 2 === 1 ? 'needs_first_response' : 'waiting_for_user',
        channelId: one('channel'),
        contactId: one('contact'),
        assignedUserId: random.chance(0.5) ? one('user') : null,
        topicIds: several('topic'),
        tagIds: several('tag'),
        urgencyScore: 1 + random.int(3),
        ...times,
      };
    case 'message':
      return {
        conversationId: primaryOf('conversation', number % counts.conversation),
        ...author(random, one),
        content: prose(random, 100 + random.int(500)),
        createdAt: at,
      };
    case 'qa': {
      const questionVariations = Array.from({ length: 3 }, () => prose(random, 60));
      return { question: prose(random, 60), questionVariations, answer: prose(random, 500), ...times };
    }
  }
}

function author(random: Random, one: Context['one']) {
  const role = random.pick(['user', 'user', 'assistant', 'human'] as const);
  switch (role) {
    case 'user':
      return { role, author: { type: 'contact', id: one('contact') } };
    case 'assistant':
      return { role, author: { type: 'ai_agent', id: one('agent') } };
    case 'human':
      return { role, author: { type: 'user', id: one('user') } };
  }
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';
const characters = (random: Random, length: number) =>
  Array.from({ length }, () => alphabet[random.int(alphabet.length)]).join('');

const words =
  `order invoice refund delivery parcel account password please thanks the a my we you is was not yet arrived
  broken lamp tent jacket since yesterday again could check label return address changed twice charged working`.split(
    /\s+/,
  );

/** Words with at least this many characters in total. */
function prose(random: Random, length: number): string {
  let text = random.pick(words);
  while (text.length < length) text += ` ${random.pick(words)}`;
  return text;
}
