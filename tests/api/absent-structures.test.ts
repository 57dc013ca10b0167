import type { Db, Document } from 'mongodb';
import { manifestOf } from '../../shared/control/manifest.ts';
import { changeRegistry } from '../../shared/control/registry.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import { readCollections } from '../../shared/store/structures.ts';
import { eventually } from '../support/eventually.ts';
import { now, oneOfEach, urls } from './every-route.ts';
import { errorOf, listOf, type TestStore, useApi } from './test-api.ts';

// It does not start at 0, because the caches take 0 for the absence of a time.
const clock = { nowMs: 1 };
const api = useApi(oneOfEach(), { now, nowMs: () => clock.nowMs });

/** Longer than the API caches a snapshot, a failure or a key. */
const cachedMs = 6_000;
const unavailable = { status: 503, code: 'service_unavailable' };
const unknownToken = 'svc_live_unknownunknown1';

const answer = async (path: string, token?: string) => {
  const { status, text } = await api.get(path, token === undefined ? {} : { token });
  const { error } = JSON.parse(text) as { error?: { code: string } };
  return { status, code: error?.code ?? null };
};

/** Answers with items, and answers that show a client that the data does not exist. */
const answers = () =>
  Promise.all([
    ...urls.map((url) => answer(url)),
    answer('/v1/tickets?status=closed'),
    answer('/v1/tickets/ti_none'),
    answer('/v1/conversations/conv_none'),
    answer('/v1/conversations/conv_none/messages'),
    answer('/v1/channels/none'),
    answer('/v1/tickets', unknownToken),
  ]);

type Change = (store: TestStore) => Promise<unknown>;

/** A structure of the store, its loss, and its restoration. */
type Case = { structure: string; lose: Change; restore: Change };

const setHidden = ({ database }: TestStore, hidden: boolean) =>
  database.command({ collMod: 'tickets', index: { name: 'updated', hidden } });

/** Accepts a restored collection of the control database, as an operator's command does. */
const acceptAsItIs = async ({ control }: TestStore) => {
  const collections = await readCollections(control);
  await changeRegistry(control, (registry) => {
    const listed = Object.keys(registry.manifest ?? {});
    return { ...registry, manifest: manifestOf(collections, listed) };
  });
};

/** The documents of the collection that a case has dropped. */
let dropped: Document[] = [];

async function dropCollection(database: Db, name: string): Promise<void> {
  dropped = await database.collection(name).find().toArray();
  await database.dropCollection(name);
}

async function restoreCollection(database: Db, name: string): Promise<void> {
  if (dropped.length > 0) await database.collection(name).insertMany(dropped);
  else await database.createCollection(name);
}

const dataCollection = (name: string): Case => ({
  structure: name,
  lose: ({ database }) => dropCollection(database, name),
  restore: async ({ database }) => {
    await ensureIndexes(database);
    await restoreCollection(database, name);
  },
});

const controlCollection = (name: string): Case => ({
  structure: name,
  lose: ({ control }) => dropCollection(control, name),
  restore: async (store) => {
    await restoreCollection(store.control, name);
    await acceptAsItIs(store);
  },
});

test.each<Case>([
  ...['tickets', 'conversations', 'messages', 'channels', 'qas', 'apiKeys'].map(dataCollection),
  ...['generations', 'watermarks', 'blocked_keys'].map(controlCollection),
  {
    structure: 'the index tickets.updated',
    lose: ({ database }) => database.collection('tickets').dropIndex('updated'),
    restore: ({ database }) => ensureIndexes(database),
  },
  {
    structure: 'the index tickets.updated, which is hidden',
    lose: (store) => setHidden(store, true),
    restore: (store) => setHidden(store, false),
  },
])('every answer that needs $structure is an error without it', async ({ lose, restore }) => {
  const before = await answers();
  expect(before.map(({ status }) => status)).not.toContain(503);
  await lose(api.store);
  clock.nowMs += cachedMs;
  const answersWithout = await answers();
  // Restores before the comparison of the answers, so that a failure spoils no other case.
  await restore(api.store);
  expect(answersWithout).toEqual(answersWithout.map(() => unavailable));
  await eventually(async () => {
    clock.nowMs += cachedMs;
    return (await answer('/v1/tickets')).status === 200;
  });
  expect(await answers()).toEqual(before);
});

describe('a list whose collection changes within a second after its snapshot', () => {
  const qas = '/v1/knowledge/qa';
  /** Lets the API take a new snapshot. */
  const refreshSnapshot = async (path: string) => {
    clock.nowMs += cachedMs;
    await eventually(async () => (await api.get(path)).status === 200);
  };

  test('is an error until the next snapshot if an empty collection replaces its collection', async () => {
    await refreshSnapshot(qas);
    const { database } = api.store;
    const documents = await database.collection('qas').find().toArray();
    await database.collection('qas').drop();
    await ensureIndexes(database);
    expect(await answer(qas)).toEqual(unavailable);
    clock.nowMs += cachedMs;
    expect(listOf(await api.get(qas)).data).toEqual([]);
    await database.collection('qas').insertMany(documents);
  });

  test('is an error if the collection loses the index of the list', async () => {
    const path = '/v1/tickets?sort=createdAt';
    await refreshSnapshot(path);
    await api.store.database.collection('tickets').dropIndex('created');
    const refused = await api.get(path);
    expect({ status: refused.status, code: errorOf(refused).code }).toEqual(unavailable);
    await ensureIndexes(api.store.database);
  });
});

test('concurrent requests that find nothing share a check that their collection exists', async () => {
  clock.nowMs += cachedMs;
  await eventually(async () => (await api.get('/v1/tickets')).status === 200);
  api.commands.splice(0);
  const paths = Array.from({ length: 20 }, (_, index) => `/v1/tickets/ti_none_${index}`);
  const notFound = await Promise.all(paths.map((path) => answer(path)));
  expect(notFound).toEqual(paths.map(() => ({ status: 404, code: 'ticket_not_found' })));
  const checks = api.commands.filter(({ commandName }) => commandName === 'listCollections');
  expect(checks.length).toBeLessThan(10);
});
