import {
  exportChanges,
  type ChangeBatch,
  type ExportOptions,
  type TicketItem,
} from '../../clients/typescript/src/index.ts';
import * as build from '../api/builders.ts';
import { startApi, startStore, type TestApi, type TestStore } from '../api/test-api.ts';
import { createRandom, type Random } from '../support/random.ts';
import { connect, failureOf, takeAll } from './test-client.ts';
import { createSourceSystem } from './source-system.ts';

let store: TestStore;
let api: TestApi;
/** A lagging replica: its store receives changes later. */
let storeBehind: TestStore;
let apiBehind: TestApi;
let nowMs = 0;

beforeEach(async () => {
  [store, storeBehind] = await Promise.all([startStore(), startStore()]);
  api = await startApi(store, { nowMs: () => nowMs });
  apiBehind = await startApi(storeBehind, { nowMs: () => nowMs });
});

afterEach(async () => {
  for (const each of [api, apiBehind, store, storeBehind]) await each.close();
});

/** The same request to the lagging replica. */
const behind = (url: string) => url.replace(api.url, apiBehind.url);

/** The caller's copy: everything by its id, and the position to continue from. */
const createCopy = () => {
  const kept = {
    tickets: new Map<string, TicketItem>(),
    messages: new Set<string>(),
    since: undefined as string | undefined,
  };
  const keep = ({ tickets, conversations, messages, since }: ChangeBatch) => {
    for (const ticket of tickets) kept.tickets.set(ticket.id, ticket);
    for (const { id } of [...messages, ...conversations.flatMap((each) => each.messages)])
      kept.messages.add(id);
    kept.since = since;
  };
  return { kept, keep };
};

/** Stores batches until the end, or until the exporter is killed at random before it stores one. */
async function runOnce(random: Random, options: ExportOptions, keep: (batch: ChangeBatch) => void) {
  for await (const batch of exportChanges(options)) {
    if (random.chance(0.03)) return;
    keep(batch);
  }
}

test.each([
  { seed: 1, threads: undefined, runs: 40 },
  { seed: 2, threads: 'messages' as const, runs: 5 },
  { seed: 3, threads: 'conversations' as const, runs: 5 },
])(
  'runs end with the final state, although some are killed, replicas differ, and changes are applied late and out of order: %j',
  async ({ seed, threads, runs }) => {
    const random = createRandom(seed);
    const source = createSourceSystem([store, storeBehind], random);
    await source.advance(100);
    const { client } = connect({
      baseUrl: api.url,
      fetch: async (url, init) => {
        // The data changes before each page, and the API's cache of one second has expired.
        if ((url as string).includes('/v1/tickets') || random.chance(0.05)) {
          await source.advance(random.int(6));
          nowMs += 2_000;
        }
        // Without the signal, requests of a killed run complete before the API stops.
        const { signal: _, ...rest } = init ?? {};
        return fetch(random.chance(0.5) ? url : behind(url as string), rest);
      },
    });
    const { kept, keep } = createCopy();
    for (let count = 0; count < runs; count += 1) {
      await runOnce(random, { client, threads, limit: 5, since: kept.since }, keep);
    }
    await source.applyAll();
    nowMs += 2_000;
    const quiet = connect({ baseUrl: api.url }).client;
    for await (const batch of exportChanges({ client: quiet, threads, since: kept.since })) keep(batch);
    const expected = await takeAll(quiet.tickets.all({ limit: 100, sort: 'createdAt' }));
    expect([...kept.tickets.values()].sort(byId)).toEqual([...expected].sort(byId));
    const written = await store.database.collection<{ _id: string }>('messages').find().toArray();
    expect([...kept.messages].sort()).toEqual(threads ? written.map(({ _id }) => _id).sort() : []);
  },
);

const byId = (left: { id: string }, right: { id: string }) => (left.id < right.id ? -1 : 1);

/** The joined data of a ticket with these conversations. */
const joinedTo = (ids: string[]) =>
  build.ticketJoined({
    conversations: ids.map((id) => ({ ...build.ticketJoined().conversations[0], id }) as never),
  });

describe('a run', () => {
  const progress = (completeTo: string) => build.dataAsOf(store.control, new Date(completeTo));
  const batchesOf = (options: Omit<ExportOptions, 'client'> = {}) =>
    takeAll(exportChanges({ client: connect({ baseUrl: api.url }).client, ...options }));
  const tickets = (count: number) =>
    Array.from({ length: count }, (_, index) => build.ticket({ id: `ti_${1_000 + index}` }));

  beforeEach(() => progress('2026-03-01T00:00:00Z'));

  test('without changes still returns the start of the next run', async () => {
    expect(await batchesOf({ since: '2026-02-01T00:00:00Z' })).toEqual([
      { tickets: [], conversations: [], messages: [], since: '2026-03-01T00:00:00.000Z' },
    ]);
  });

  test('begins at the earliest Data-As-Of of the previous run', async () => {
    await build.store(store.database, 'ticket', tickets(250));
    const instants = ['2026-03-03', '2026-03-02', '2026-03-04'].map((day) => `${day}T00:00:00.000Z`);
    const { client } = connect({
      baseUrl: api.url,
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        const headers = new Headers(response.headers);
        headers.set('Data-As-Of', instants.shift() ?? '');
        return new Response(await response.arrayBuffer(), { headers });
      },
    });
    const batches = await takeAll(exportChanges({ client }));
    expect(batches.map((batch) => batch.tickets.length)).toEqual([100, 100, 50]);
    expect(batches.at(-1)?.since).toBe('2026-03-02T00:00:00.000Z');
  });

  test('that was killed continues after the last stored batch', async () => {
    await build.store(store.database, 'ticket', tickets(250));
    const [first] = await batchesOf();
    const rest = await batchesOf({ since: first?.since });
    const ids = [first, ...rest].flatMap((batch) => batch?.tickets.map(({ id }) => id) ?? []);
    expect(ids).toEqual(tickets(250).map(({ _id }) => _id));
  });

  test('whose cursor is refused starts again', async () => {
    await build.store(store.database, 'ticket', tickets(3));
    const since = JSON.stringify({
      from: null,
      next: '2026-02-01T00:00:00.000Z',
      cursor: 'of another release',
    });
    const batches = await batchesOf({ since });
    expect(batches.map((batch) => [batch.tickets.length, batch.since])).toEqual([
      [3, '2026-03-01T00:00:00.000Z'],
    ]);
  });

  test('omits deleted conversations, and archived ones with threads: conversations', async () => {
    const joined = joinedTo(['conv_gone', 'conv_old', 'conv_1']);
    await build.fill(store.database, {
      ticket: [build.ticket({ id: 'ti_1' }, { joined })],
      conversation: [
        build.conversation({ id: 'conv_old', status: 'archived' }),
        build.conversation({ id: 'conv_1' }),
      ],
      message: ['old', '1'].map((id) => build.message({ id: `msg_${id}`, conversationId: `conv_${id}` })),
    });
    const whole = await batchesOf({ threads: 'conversations' });
    expect(whole.flatMap(({ conversations }) => conversations.map(({ id }) => id))).toEqual(['conv_1']);
    const paged = await batchesOf({ threads: 'messages' });
    expect(paged.flatMap(({ messages }) => messages.map(({ id }) => id)).sort()).toEqual([
      'msg_1',
      'msg_old',
    ]);
    // The position advances only after all threads of a page.
    expect(paged.map(({ since }) => since.startsWith('{'))).toEqual([true, true, true, false]);
  });

  test('fetches no more threads at once than allowed, and aborts requests in progress when the loop ends', async () => {
    const ids = Array.from({ length: 12 }, (_, index) => `conv_${index + 10}`);
    await build.fill(store.database, {
      ticket: [build.ticket({ id: 'ti_1' }, { joined: joinedTo(ids) })],
      conversation: ids.map((id) => build.conversation({ id })),
    });
    const working = new Set<AbortSignal | null | undefined>();
    let most = 0;
    const { client } = connect({
      baseUrl: api.url,
      fetch: (url, init) => {
        working.add(init?.signal);
        most = Math.max(most, working.size);
        return fetch(url, init).finally(() => working.delete(init?.signal));
      },
    });
    const whole = await takeAll(exportChanges({ client, threads: 'conversations', concurrency: 3 }));
    expect(whole.flatMap((batch) => batch.conversations)).toHaveLength(12);
    expect(most).toBe(3);
    let left: (AbortSignal | null | undefined)[] = [];
    for await (const batch of exportChanges({ client, threads: 'conversations', concurrency: 3 })) {
      left = [...working];
      if (batch.conversations.length > 0) break;
    }
    expect(left.length).toBeGreaterThan(0);
    expect(left.every((signal) => signal?.aborted)).toBe(true);
  });

  test('ends with the reason of its signal', async () => {
    await build.store(store.database, 'ticket', tickets(250));
    const controller = new AbortController();
    const run = exportChanges({ client: connect({ baseUrl: api.url }).client, signal: controller.signal });
    await run.next();
    controller.abort(new Error('enough'));
    expect(await failureOf(run.next())).toEqual(new Error('enough'));
  });

  test.each([0, -1, 1.5])('concurrency %d is refused, and the error names it', async (concurrency) => {
    expect(await failureOf(batchesOf({ concurrency }))).toMatchObject({
      message: expect.stringMatching(/^concurrency must be/) as string,
    });
  });
});
