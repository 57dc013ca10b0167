import { createHash } from 'node:crypto';
import { kinds, type Kind } from '../../shared/documents/document.ts';
import { created } from '../support/entities.ts';
import { encode, idPrefixes, type Produced } from '../support/events.ts';
import { createRandom, type Random } from '../support/random.ts';

/** The entities of each kind, of 184 in total. Each is published once, so these are the shares of the records too. */
const shares: Record<Kind, number> = {
  apiKey: 1,
  contact: 7,
  user: 1,
  agent: 1,
  tag: 2,
  topic: 2,
  channel: 1,
  ticket: 24,
  conversation: 24,
  message: 120,
  qa: 1,
};
const sharesTotal = Object.values(shares).reduce((sum, share) => sum + share, 0);

const organizations = 3;

/** Entities by their number. Every run has the same ones. */
export type Dataset = {
  counts: Record<Kind, number>;
  /** The record that publishes an entity; `version` 2 and above change its status. */
  record: (kind: Kind, number: number, version?: number, time?: Date) => Produced;
};

/** The token of an API key, which belongs to the organization of its number. */
export const apiKeyToken = (number: number): string => `svc_live_bench${number}`;

/** When the first entity was created. Each later one of its kind was created a minute after. */
const startMs = Date.UTC(2026, 0, 1);

/** About `records` entities: each kind that others refer to has at least one in each organization. */
export function createDataset(records: number): Dataset {
  const entityCount = (kind: Kind) =>
    Math.max(organizations, Math.round((records * shares[kind]) / sharesTotal));
  const counts = Object.fromEntries(kinds.map((kind) => [kind, entityCount(kind)])) as Dataset['counts'];
  const record: Dataset['record'] = (
    kind,
    number,
    version = 1,
    time = new Date(startMs + number * 60_000),
  ) => {
    // A message belongs to the organization of its conversation.
    const organization = (kind === 'message' ? number % counts.conversation : number) % organizations;
    const random = createRandom(number * kinds.length + kinds.indexOf(kind));
    const one = (other: Kind) =>
      entityId(other, organization + organizations * random.int(Math.floor(counts[other] / organizations)));
    const state = entityState(kind, { random, one, number, version, at: time.toISOString(), counts });
    const event = {
      ...created(kind, entityId(kind, number), state, version),
      orgId: `org_${organization}`,
      time,
    };
    // CloudEvents in structured mode: every contender can read them as plain JSON.
    return encode(event, 'structured');
  };
  return { counts, record };
}

/** Ids of successive entities are far apart, as in most source systems. */
const entityId = (kind: Kind, number: number): string =>
  idPrefixes[kind] + createHash('sha256').update(`${kind}/${number}`).digest('hex').slice(0, 20);

type Context = {
  random: Random;
  /** The id of any entity of that kind in the same organization. */
  one: (kind: Kind) => string;
  number: number;
  version: number;
  at: string;
  counts: Dataset['counts'];
};

/** The fields that differ from the example states. They make records of a realistic size, 0.3 to 1.5 KB. */
function entityState(
  kind: Kind,
  { random, one, number, version, at, counts }: Context,
): Record<string, unknown> {
  const several = (other: Kind) => [...new Set(Array.from({ length: random.int(4) }, () => one(other)))];
  const email = () => `${prose(random, 5).replaceAll(' ', '.')}.${number}@example.com`;
  const times = { createdAt: at, updatedAt: at };
  switch (kind) {
    case 'apiKey': {
      const tokenSha256 = createHash('sha256').update(apiKeyToken(number)).digest('hex');
      return { name: prose(random, 20), tokenSha256, createdAt: at };
    }
    case 'contact':
      return { name: prose(random, 14), email: { email: email(), verified: true } };
    case 'user':
      return { name: prose(random, 14), email: email() };
    case 'agent':
    case 'tag':
    case 'topic':
      return { name: prose(random, 10) };
    case 'channel':
      return { name: prose(random, 16), agentId: one('agent'), ...times };
    case 'ticket': {
      const status = version % 2 === 1 ? 'open' : 'resolved';
      const references = { requesterId: one('contact'), tagIds: several('tag'), topicIds: several('topic') };
      return { title: prose(random, 60), status, ...references, ...times };
    }
    case 'conversation':
      return {
        ticketId: entityId('ticket', number),
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
    case 'message': {
      const conversationId = entityId('conversation', number % counts.conversation);
      const { role, type, kind: other } = random.pick(authors);
      const content = prose(random, 100 + random.int(500));
      return { conversationId, role, author: { type, id: one(other) }, content, createdAt: at };
    }
    case 'qa': {
      const questionVariations = Array.from({ length: 3 }, () => prose(random, 60));
      return { question: prose(random, 60), questionVariations, answer: prose(random, 500), ...times };
    }
  }
}

/** Half of the messages are from contacts. */
const authors = [
  { role: 'user', type: 'contact', kind: 'contact' },
  { role: 'user', type: 'contact', kind: 'contact' },
  { role: 'assistant', type: 'ai_agent', kind: 'agent' },
  { role: 'human', type: 'user', kind: 'user' },
] as const;

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
