import { encode, type Event, type SampleRecord } from './encode.ts';
import { createOrganization, type Organization, type SampleKey } from './organization.ts';
import { createRandom, type Random } from './random.ts';
import { type ConversationContext, ticketEvents } from './tickets.ts';

/** The number of tickets, contacts, and messages of the longest conversation, by size. */
export const sizes = {
  small: { tickets: 210, contacts: 90, longestConversation: 500 },
  medium: { tickets: 2_100, contacts: 900, longestConversation: 5_000 },
  large: { tickets: 21_000, contacts: 9_000, longestConversation: 50_000 },
} as const;

export type Size = keyof typeof sizes;
type Amounts = { tickets: number; contacts: number; longestConversation: number };

/** Records in the order in which the source system publishes them, and the progress after them, 0 to 1. */
export type SampleBatch = { records: SampleRecord[]; progress: number };

/** The state that live changes continue from: the entities that tickets refer to, and the latest conversations. */
export type SampleState = {
  random: Random;
  organizations: Organization[];
  conversations: ConversationContext[];
};

/** Generated data of made-up support organizations. Iterate `events` once; `state` is complete after that. */
export type SampleData = {
  apiKeys: SampleKey[];
  state: SampleState;
  events: Iterable<Event>;
  tickets: number;
};

const recordsMax = 500;
/** The maximum number of conversations that live changes continue. */
export const conversationsMax = 300;

/** Each organization's share of the tickets and contacts. */
const shares = [0.5, 0.3, 0.2];

/**
 * Generates sample data that `seed`, `size` and `now` determine completely. The latest event is shortly before `now`.
 * Memory has the entities that tickets refer to and the last 300 conversations, but not the tickets.
 */
export function generateSampleData({
  seed,
  size,
  now = new Date(),
}: {
  seed: number;
  size: Size | Amounts;
  now?: Date;
}): SampleData {
  const random = createRandom(seed);
  const { tickets, contacts, longestConversation } = typeof size === 'string' ? sizes[size] : size;
  const created = shares.map((share) => createOrganization(random, Math.round(contacts * share), now));
  const organizations = created.map(({ organization }) => organization);
  const state: SampleState = { random, organizations, conversations: [] };
  function* events(): Generator<Event> {
    const setup = created.flatMap((organization) => organization.events);
    // Every tenth contact is published after the tickets that refer to it.
    const late = new Set(
      setup.filter(({ kind }, index) => kind === 'contact' && index % 10 === 0).map(({ id }) => id),
    );
    yield* setup.filter(({ id }) => !late.has(id));
    for (const [index, organization] of organizations.entries()) {
      const count = Math.round(tickets * (shares[index] ?? 0));
      for (let number = 0; number < count; number++) {
        const messages = index === 0 && number === 0 ? longestConversation : undefined;
        const conversation = yield* ticketEvents({ random, organization, now }, messages);
        if (conversation) state.conversations.push(conversation);
        if (state.conversations.length > conversationsMax) state.conversations.shift();
      }
    }
    yield* setup.filter(({ id }) => late.has(id));
  }
  return { apiKeys: created.flatMap(({ keys }) => keys), state, events: events(), tickets };
}

/** Encodes events in batches of about `recordsMax` records. */
export function* batchesOf({ state: { random }, events, tickets }: SampleData): Generator<SampleBatch> {
  let records: SampleRecord[] = [];
  let done = 0;
  for (const event of events) {
    records.push(...recordsOf(random, event));
    if (event.kind === 'ticket' && event.version === 1) done++;
    if (records.length < recordsMax) continue;
    yield { records, progress: Math.min(1, done / tickets) };
    records = [];
  }
  yield { records, progress: 1 };
}

/** Encodes an event in a random content mode. Adds a Kafka tombstone after some deletions. */
export function recordsOf(random: Random, event: Event): SampleRecord[] {
  const { kind } = event;
  const record = { kind, ...encode(event, random.chance(0.4) ? 'binary' : 'structured') };
  const addTombstone = event.op === 'deleted' && random.chance(0.3);
  return addTombstone ? [record, { kind, ...encode({ ...event, op: 'tombstone' }, 'binary') }] : [record];
}
