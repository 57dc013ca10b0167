import { exportChanges } from '../../clients/typescript/src/index.ts';
import * as build from '../api/builders.ts';
import { startApi, startStore, type Get, type TestApi, type TestStore } from '../api/test-api.ts';
import { connect } from './test-client.ts';
import { exportBy, type Recipe } from './recipes.ts';

/** The documents that one replica serves, and the instant up to which they are complete. */
type State = { ids: string[]; completeTo: string };

const changedAt = '2026-03-01T00:00:10.000Z';
const instant = (second: string) => `2026-03-01T00:00:${second}.000Z`;
const referenceTo = (id: string) => ({ ...build.ticketJoined().conversations[0], id }) as never;
const joined = build.ticketJoined({ conversations: [referenceTo('conv_2')] });
/** A ticket that does not change, and one that was just opened with a message. */
const documents = {
  ti_1: build.ticket({ id: 'ti_1' }, { joined: build.ticketJoined({ conversations: [] }) }),
  ti_2: build.ticket({ id: 'ti_2', updatedAt: changedAt }, { joined }),
  conv_2: build.conversation({ id: 'conv_2', ticketId: 'ti_2', updatedAt: changedAt }),
  msg_2: build.message({ id: 'msg_2', conversationId: 'conv_2', createdAt: changedAt }),
};
const kinds = { ti: 'ticket', conv: 'conversation', msg: 'message' } as const;
const everything: State = { ids: Object.keys(documents), completeTo: '2026-03-01T00:01:00.000Z' };

type Case = {
  name: string;
  ahead: State;
  behind: State;
  /** Whether the lagging replica responds to the request. */
  isBehind: (path: string) => boolean;
  /** Recipes that lose the change. */
  wrong: Recipe[];
};
const right: Recipe = { threads: 'every', next: 'answers and errors' };
const isThread = (path: string) => path.includes('/messages');
const whole: State = { ids: everything.ids, completeTo: instant('20') };
const cases: Case[] = [
  {
    name: 'a message that is applied after its ticket',
    ahead: { ids: ['ti_1', 'ti_2', 'conv_2'], completeTo: instant('09') },
    behind: whole,
    isBehind: () => false,
    wrong: [{ ...right, threads: 'new' }],
  },
  {
    name: 'a second page from a lagging replica',
    ahead: whole,
    behind: { ids: ['ti_1'], completeTo: instant('05') },
    isBehind: (path) => path.includes('startingAfter'),
    wrong: [{ ...right, next: 'first page' }],
  },
  {
    name: 'a thread from a lagging replica',
    ahead: whole,
    behind: { ids: ['ti_1', 'conv_2'], completeTo: instant('05') },
    isBehind: isThread,
    wrong: [
      { ...right, next: 'first page' },
      { ...right, next: 'pages' },
    ],
  },
  {
    name: 'a thread that a lagging replica does not have yet',
    ahead: whole,
    behind: { ids: ['ti_1'], completeTo: instant('05') },
    isBehind: isThread,
    wrong: [
      { ...right, next: 'first page' },
      { ...right, next: 'pages' },
      { ...right, next: 'answers' },
    ],
  },
];

describe.each(cases)('an export with $name', ({ ahead, behind, isBehind, wrong }) => {
  type Replica = { store: TestStore; api: TestApi };
  let replicas: { ahead: Replica; behind: Replica };
  let nowMs = 0;

  const start = async (): Promise<Replica> => {
    const store = await startStore();
    return { store, api: await startApi(store, { nowMs: () => nowMs }) };
  };
  const serve = async ({ store: { database, control } }: Replica, { ids, completeTo }: State) => {
    for (const id of ids as (keyof typeof documents)[]) {
      const kind = kinds[id.split('_')[0] as keyof typeof kinds];
      await database.collection(`${kind}s`).deleteOne({ _id: id as never });
      await build.store(database, kind, [documents[id]]);
    }
    await build.dataAsOf(control, new Date(completeTo));
  };
  const replicaOf = (path: string) => replicas[isBehind(path) ? 'behind' : 'ahead'];

  beforeEach(async () => {
    replicas = { ahead: await start(), behind: await start() };
    await serve(replicas.ahead, ahead);
    await serve(replicas.behind, behind);
  });
  afterEach(async () => {
    for (const { api, store } of Object.values(replicas)) {
      await api.close();
      await store.close();
    }
  });

  /** Applies everything to all replicas, and lets their caches expire. */
  const catchUp = async () => {
    for (const replica of Object.values(replicas)) await serve(replica, everything);
    nowMs += 2_000;
  };

  test('loses no change with the client', async () => {
    const ids = new Set<string>();
    let since: string | undefined;
    const baseUrl = replicas.ahead.api.url;
    const { client } = connect({
      baseUrl,
      fetch: (url, init) => {
        const path = (url as string).slice(baseUrl.length);
        return fetch(`${replicaOf(path).api.url}${path}`, init);
      },
    });
    for (let run = 1; run <= 2; run += 1) {
      for await (const batch of exportChanges({ client, since, threads: 'messages', limit: 1 })) {
        for (const { id } of [...batch.tickets, ...batch.messages]) ids.add(id);
        since = batch.since;
      }
      await catchUp();
    }
    expect([...ids].sort()).toEqual(['msg_2', 'ti_1', 'ti_2']);
  });

  test.each([{ ...right, loses: false }, ...wrong.map((recipe) => ({ ...recipe, loses: true }))])(
    'with the recipe (threads: $threads, Data-As-Of of: $next) loses the change: $loses',
    async ({ loses, ...recipe }) => {
      const copy = new Set<string>();
      const get: Get = (path, ...rest) => replicaOf(path).api.get(path, ...rest);
      const since = await exportBy(recipe, get, copy, null);
      await catchUp();
      await exportBy(recipe, get, copy, since);
      expect(copy.has('ti_2') && copy.has('msg_2')).toBe(!loses);
    },
  );
});
