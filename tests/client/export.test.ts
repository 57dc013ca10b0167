import {
  type ExportBatch,
  exportChanges,
  type ExportOptions,
  type TicketItem,
} from '../../clients/typescript/src/index.ts';
import * as build from '../api/builders.ts';
import { startApi, startStore, type TestApi, type TestStore } from '../api/test-api.ts';
import { createRandom, type Random } from '../support/random.ts';
import { createLateReplicas } from './late-replicas.ts';
import { connect, joinedConversations } from './test-client.ts';

let store: TestStore;
let api: TestApi;
/** The store and the API of a replica that receives changes later. */
let laggingStore: TestStore;
let laggingApi: TestApi;
let nowMs = 0;

beforeEach(async () => {
  [store, laggingStore] = await Promise.all([startStore(), startStore()]);
  api = await startApi(store, { nowMs: () => nowMs });
  laggingApi = await startApi(laggingStore, { nowMs: () => nowMs });
});

afterEach(async () => {
  for (const opened of [api, laggingApi, store, laggingStore]) await opened.close();
});

/** Creates a caller's copy: tickets by id, threads by conversation, and the position from which to continue. */
const createCopy = () => {
  const copy = {
    tickets: new Map<string, TicketItem>(),
    threads: new Map<string, string[]>(),
    since: undefined as string | undefined,
  };
  const parts = new Map<string, string[]>();
  const storeBatch = (batch: ExportBatch) => {
    copy.since = batch.since;
    if ('ticket' in batch) {
      copy.tickets.set(batch.ticket.id, batch.ticket);
      return;
    }
    const { conversationId, messages, isLast } = batch;
    const ids = [...(parts.get(conversationId) ?? []), ...(messages ?? []).map(({ id }) => id)];
    parts.set(conversationId, isLast ? [] : ids);
    if (isLast) copy.threads.set(conversationId, ids);
  };
  return { copy, storeBatch };
};

/** Runs an exporter until its end, or until a random kill before it stores a batch. */
async function runUntilKilled(
  random: Random,
  options: ExportOptions,
  storeBatch: (batch: ExportBatch) => void,
) {
  for await (const batch of exportChanges(options)) {
    if (random.chance(0.03)) return;
    storeBatch(batch);
  }
}

test.each([
  { seed: 1, threads: false, runs: 40 },
  { seed: 2, threads: true, runs: 10 },
])(
  'an exporter that is killed at random ends with the final state of replicas that lag: %j',
  async ({ seed, threads, runs }) => {
    const random = createRandom(seed);
    const source = createLateReplicas([store, laggingStore], random);
    await source.advance(100);
    const fetchFromReplicas = async (url: unknown, init: RequestInit = {}) => {
      // The data changes before each page, and the API's cache of one second has expired.
      if (String(url).includes('/v1/tickets') || random.chance(0.05)) {
        await source.advance(random.int(6));
        nowMs += 2_000;
      }
      const replica = random.chance(0.5) ? api : laggingApi;
      // Without the signal, requests of a killed run complete before the API stops.
      const { signal: _, ...rest } = init;
      return fetch(String(url).replace(api.url, replica.url), rest);
    };
    const { client } = connect({ baseUrl: api.url, fetch: fetchFromReplicas });
    const { copy, storeBatch } = createCopy();
    for (let count = 0; count < runs; count += 1) {
      await runUntilKilled(random, { client, threads, limit: 5, since: copy.since }, storeBatch);
    }
    await source.applyAll();
    nowMs += 2_000;
    const undisturbed = connect({ baseUrl: api.url }).client;
    // The first run completes the last run if the test killed it. The second begins at the earliest Data-As-Of of the
    // first.
    for (let count = 0; count < 2; count += 1) {
      const options = { client: undisturbed, threads, since: copy.since };
      for await (const batch of exportChanges(options)) storeBatch(batch);
    }
    const expected = await Array.fromAsync(undisturbed.tickets.list({ limit: 100, sort: 'createdAt' }));
    expect([...copy.tickets.values()].sort(byId)).toEqual([...expected].sort(byId));
    const messages = await store.database.collection<{ _id: string }>('messages').find().toArray();
    expect([...copy.threads.values()].flat().sort()).toEqual(
      threads ? messages.map(({ _id }) => _id).sort() : [],
    );
  },
);

const byId = (left: { id: string }, right: { id: string }) => (left.id < right.id ? -1 : 1);

describe('a run of an export', () => {
  const progress = (completeTo: string) => build.dataAsOf(store.control, new Date(completeTo));
  const batchesOf = (options: Omit<ExportOptions, 'client'> = {}) =>
    Array.fromAsync(exportChanges({ client: connect({ baseUrl: api.url }).client, ...options }));
  const idOf = (batch: ExportBatch | undefined) => (batch && 'ticket' in batch ? batch.ticket.id : null);
  const tickets = (count: number) =>
    Array.from({ length: count }, (_, index) => build.ticket({ id: `ti_${1_000 + index}` }));

  beforeEach(() => progress('2026-03-01T00:00:00Z'));

  test('yields nothing if nothing has changed', async () => {
    expect(await batchesOf({ since: '2026-02-01T00:00:00Z' })).toEqual([]);
  });

  test.each([
    ['page', ['03', '04', '02', '05']],
    ['thread', ['03', '02', '04', '05']],
  ])('continues from the earliest Data-As-Of of the previous run, here that of a %s', async (_, days) => {
    await build.fill(store.database, {
      ticket: tickets(2),
      conversation: [build.conversation({ id: 'conv_1' })],
    });
    const { client } = connect({
      baseUrl: api.url,
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        const headers = new Headers(response.headers);
        headers.set('Data-As-Of', `2026-03-${days.shift()}T00:00:00.000Z`);
        return new Response(await response.arrayBuffer(), { headers });
      },
    });
    const batches = await Array.fromAsync(exportChanges({ client, threads: true, limit: 1 }));
    expect(batches).toHaveLength(4);
    expect(batches.at(-1)?.since).toBe('2026-03-02T00:00:00.000Z');
  });

  test('continues after the last stored batch of a killed run', async () => {
    await build.store(store.database, 'ticket', tickets(250));
    const stored = (await batchesOf()).slice(0, 100);
    const remaining = await batchesOf({ since: stored.at(-1)?.since });
    expect([...stored, ...remaining].map(idOf)).toEqual(tickets(250).map(({ _id }) => _id));
  });

  test('starts from the beginning if the API refuses its cursor', async () => {
    await build.store(store.database, 'ticket', tickets(3));
    const next = '2026-02-01T00:00:00.000Z';
    const since = JSON.stringify({ changedFrom: null, nextChangedFrom: next, cursor: 'of another release' });
    const batches = await batchesOf({ since });
    expect({ batches: batches.length, since: batches.at(-1)?.since }).toEqual({
      batches: 3,
      since: '2026-03-01T00:00:00.000Z',
    });
  });

  test('finds a change that was applied after the empty last page of the previous run', async () => {
    const changed = (id: string, day: string) => build.ticket({ id, updatedAt: `2026-03-${day}T00:00:00Z` });
    await build.store(store.database, 'ticket', [changed('ti_1', '03'), changed('ti_2', '04')]);
    const { client } = connect({ baseUrl: api.url });
    let since: string | undefined;
    for await (const batch of exportChanges({ client, limit: 1 })) {
      since = batch.since;
      await store.database.collection<{ _id: string }>('tickets').deleteOne({ _id: 'ti_2' });
    }
    await build.store(store.database, 'ticket', [changed('ti_late', '02')]);
    expect((await batchesOf({ since })).map(idOf)).toEqual(['ti_late', 'ti_1']);
  });

  describe('with threads', () => {
    const threads = async () =>
      (await batchesOf({ threads: true })).flatMap((batch) =>
        'messages' in batch
          ? [[batch.conversationId, batch.messages?.map(({ id }) => id) ?? null, batch.isLast]]
          : [],
      );
    const messages = (count: number, conversationId: string) =>
      Array.from({ length: count }, (_, index) =>
        build.message({ id: `msg_${1_000 + index}`, conversationId }),
      );

    test('yields every conversation that a ticket embeds', async () => {
      await build.fill(store.database, {
        ticket: [
          build.ticket(
            { id: 'ti_1' },
            { joined: joinedConversations(['conv_gone', 'conv_old', 'conv_1', 'conv_long']) },
          ),
        ],
        conversation: [
          build.conversation({ id: 'conv_old', status: 'archived' }),
          build.conversation({ id: 'conv_1' }),
          build.conversation({ id: 'conv_long' }),
        ],
        message: [
          build.message({ id: 'msg_old', conversationId: 'conv_old' }),
          ...messages(101, 'conv_long'),
        ],
      });
      const exported = await threads();
      expect(exported).toHaveLength(5);
      expect(exported).toEqual(
        expect.arrayContaining([
          ['conv_gone', null, true],
          ['conv_old', ['msg_old'], true],
          ['conv_1', [], true],
          ['conv_long', messages(100, 'conv_long').map(({ _id }) => _id), false],
          ['conv_long', ['msg_1100'], true],
        ]),
      );
    });

    test('yields a ticket again after a lagging replica has answered 404 for its conversation', async () => {
      const joined = joinedConversations(['conv_1']);
      await build.store(store.database, 'ticket', [build.ticket({ id: 'ti_1' }, { joined })]);
      // The Data-As-Of is less than a second after the update of the ticket.
      const dataAsOf = new Date(Date.parse(build.at) + 999);
      await progress(dataAsOf.toISOString());
      const batches = await batchesOf({ threads: true });
      expect(batches).toMatchObject([{ ticket: { id: 'ti_1' } }]);
      const since = batches[0]?.since ?? '';
      expect(Date.parse(since)).toBeLessThanOrEqual(Date.parse(build.at));
      await build.fill(store.database, {
        conversation: [build.conversation({ id: 'conv_1' })],
        message: [build.message({ id: 'msg_1' })],
      });
      nowMs += 2_000;
      expect(await batchesOf({ threads: true, since })).toMatchObject([
        { ticket: { id: 'ti_1' } },
        { conversationId: 'conv_1', messages: [{ id: 'msg_1' }], isLast: true },
      ]);
    });

    test('moves the position beyond a page with the last batch of its threads', async () => {
      await build.store(store.database, 'ticket', [
        build.ticket({ id: 'ti_1' }, { joined: joinedConversations(['conv_1', 'conv_2']) }),
      ]);
      const positions = (await batchesOf({ threads: true })).map(({ since }) => since.startsWith('{'));
      expect(positions).toEqual([true, true, false]);
    });
  });
});
