import type { CommandStartedEvent } from 'mongodb';
import { createMongo, generationDatabase } from '../../shared/store/connection.ts';
import * as build from './builders.ts';
import { planOf } from './explain-plan.ts';
import { mongoUrl, startStore, testReaders, type TestStore } from './test-api.ts';

const shape = { kind: 'ticket' as const, projection: { 'state.id': 1 } };
const client = createMongo(mongoUrl(), 'api-tests');
const finds: CommandStartedEvent['command'][] = [];

let store: TestStore;
let open: (orgId: string) => ReturnType<ReturnType<typeof testReaders>>;

beforeAll(async () => {
  store = await startStore();
  await build.store(store.database, 'ticket', [
    ...['ti_1', 'ti_2', 'ti_3'].map((id) => build.ticket({ id })),
    build.ticket({ id: 'ti_b' }, { orgId: 'org_b' }),
  ]);
  // The driver has this setter, but its type declarations do not.
  Object.assign(client, { monitorCommands: true });
  client.on('commandStarted', ({ commandName, command }) => {
    if (commandName === 'find') finds.push(command);
  });
  const snapshot = { database: generationDatabase(client, store.name, 1), generation: 1, readAfter: null };
  const openReader = testReaders();
  open = (orgId) => openReader(orgId, snapshot);
}, 60_000);

beforeEach(() => finds.splice(0));
afterAll(async () => {
  await client.close();
  await store.close();
});

const idOf = (found: object | null) => (found as { state: { id: string } } | null)?.state.id ?? null;

it('requests that come during a query share the next one, and each sees its own organization alone', async () => {
  const [a, b] = [open('org_a'), open('org_b')];
  const found = await Promise.all([
    a.find(shape, 'ti_1'),
    a.find(shape, 'ti_2'),
    b.find(shape, 'ti_2'),
    b.find(shape, 'ti_b'),
    a.find(shape, 'ti_b'),
    a.find(shape, 'ti_2'),
    a.find(shape, 'ti_none'),
  ]);
  expect(found.map(idOf)).toEqual(['ti_1', 'ti_2', null, 'ti_b', null, 'ti_2', null]);
  const [first, second, ...others] = finds.map(({ filter }) => filter as object);
  expect(first).toEqual({ _id: { $in: ['ti_1'] }, orgId: { $in: ['org_a'] } });
  expect(second).toEqual({ _id: { $in: ['ti_2', 'ti_b', 'ti_none'] }, orgId: { $in: ['org_a', 'org_b'] } });
  expect(others).toEqual([]);
});

it('a shared query is a range of the index of ids', async () => {
  const reader = open('org_a');
  await Promise.all(['ti_1', 'ti_2', 'ti_3'].map((id) => reader.find(shape, id)));
  const { find, filter, hint, projection } = finds[1] as Record<string, unknown>;
  const plan = planOf(await store.database.command({ explain: { find, filter, hint, projection } }));
  expect(plan).toMatchObject({ scans: ['_id_'], readsAll: false });
});

it('a client that leaves takes no answer away from others', async () => {
  const [leaving, staying] = [open('org_a'), open('org_b')];
  const reads = [leaving.find(shape, 'ti_1'), staying.find(shape, 'ti_b'), leaving.find(shape, 'ti_2')];
  const started = new Promise((resolve) => client.once('commandStarted', resolve));
  // Its first read starts the query that it leaves, its second one waits with that of the other client.
  await started;
  leaving.end();
  expect(idOf((await Promise.all(reads))[1] ?? null)).toBe('ti_b');
});
