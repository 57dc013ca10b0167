import type { SampleKey } from './api-keys.ts';
import { encode, tombstone, type SampleEvent, type SampleRecord } from './encode.ts';
import type { Thread } from './message.ts';
import { foundOrganization, type Organization } from './organization.ts';
import { createRandom, type Random } from './random.ts';
import { tellTicket } from './ticket.ts';

/** How much a desk holds: tickets, contacts, and the messages of its longest thread. */
export const sizes = {
  small: { tickets: 210, contacts: 90, longestThread: 500 },
  medium: { tickets: 2_100, contacts: 900, longestThread: 5_000 },
  large: { tickets: 21_000, contacts: 9_000, longestThread: 50_000 },
} as const;

export type Size = keyof typeof sizes;

/** Records in the order in which the product would publish them, and how much of the desk they complete. */
export type SampleBatch = { records: SampleRecord[]; progress: number };

/** What a living desk goes on from: everything that tickets refer to, and the threads written last. */
export type SampleState = { random: Random; organizations: Organization[]; threads: Thread[] };

/** A support desk. Its batches can be walked once; `state` is complete when they are through. */
export type SampleData = { apiKeys: SampleKey[]; state: SampleState; batches: Iterable<SampleBatch> };

const recordsMax = 500;
const threadsMax = 300;

/** Three organizations, the second and third with a share of the first one's tickets. */
const shares = [0.5, 0.3, 0.2];

/**
 * A support desk that `seed`, `size` and `now` determine wholly, ending shortly before `now`. Memory holds
 * what tickets refer to and the last few hundred threads, not the tickets.
 */
export function generateSampleData(options: { seed: number; size: Size; now?: Date }): SampleData {
  const { seed, size, now = new Date() } = options;
  const random = createRandom(seed);
  const { tickets, contacts, longestThread } = sizes[size];
  const founded = shares.map((share, index) =>
    foundOrganization(random, index, Math.round(contacts * share), now),
  );
  const state: SampleState = {
    random,
    organizations: founded.map(({ organization }) => organization),
    threads: [],
  };
  function* events(): Generator<SampleEvent | null> {
    const founding = founded.flatMap((one) => one.events);
    // Every tenth contact comes only after the tickets that refer to it.
    const late = new Set(
      founding.filter(({ kind }, index) => kind === 'contact' && index % 10 === 0).map(({ id }) => id),
    );
    yield* founding.filter(({ id }) => !late.has(id));
    for (const [index, organization] of state.organizations.entries()) {
      const count = Math.round(tickets * (shares[index] ?? 0));
      for (let number = 0; number < count; number++) {
        const lengthOf = index === 0 && number === 0 ? longestThread : undefined;
        const thread = yield* tellTicket({ random, organization, now }, lengthOf);
        if (thread) state.threads.push(thread);
        if (state.threads.length > threadsMax) state.threads.splice(0, 1);
        yield null;
      }
    }
    yield* founding.filter(({ id }) => late.has(id));
  }
  return {
    apiKeys: founded.flatMap(({ keys }) => keys),
    state,
    batches: batchesOf(random, events(), tickets),
  };
}

/** Batches of at most `recordsMax` records or a few more; a null among the events completes a ticket. */
function* batchesOf(
  random: Random,
  events: Iterable<SampleEvent | null>,
  tickets: number,
): Generator<SampleBatch> {
  let records: SampleRecord[] = [];
  let done = 0;
  for (const event of events) {
    if (event) records.push(...recordsOf(random, event));
    else done++;
    if (records.length < recordsMax) continue;
    yield { records: [...records, ...redelivered(random, records)], progress: Math.min(1, done / tickets) };
    records = [];
  }
  yield { records, progress: 1 };
}

/** An event in either content mode; after some deletions Kafka's tombstone. */
export function recordsOf(random: Random, event: SampleEvent): SampleRecord[] {
  const record = encode(event, random.chance(0.4) ? 'binary' : 'structured');
  const closed = event.verb === 'deleted' && random.chance(0.3);
  return closed ? [record, tombstone(event.kind, event.id)] : [record];
}

/** Delivery is at least once: now and then a run of records comes again. */
function redelivered(random: Random, records: SampleRecord[]): SampleRecord[] {
  if (!random.chance(0.2)) return [];
  const start = random.int(0, records.length - 1);
  return records.slice(start, start + 10);
}
