import { generationDatabase } from '../../shared/store/connection.ts';
import * as build from './builders.ts';
import { planOf } from './explain-plan.ts';
import { testReaders, useApi } from './test-api.ts';

const shape = { kind: 'ticket' as const, projection: { 'state.id': 1 } };
const api = useApi(
  {
    ticket: [
      ...['ti_1', 'ti_2', 'ti_3'].map((id) => build.ticket({ id })),
      build.ticket({ id: 'ti_b' }, { orgId: 'org_b' }),
    ],
  },
  { monitored: true },
);
let open: (orgId: string, keyId?: string) => ReturnType<ReturnType<typeof testReaders>>;

beforeAll(() => {
  const database = generationDatabase(api.client, api.store.name, 1);
  const snapshot = { database, generation: 1, readAfter: null };
  const openReader = testReaders();
  open = (orgId, keyId = 'key_1') => openReader({ orgId, keyId }, snapshot);
});

beforeEach(() => api.commands.splice(0));
const finds = () => api.commands.flatMap(({ command }) => (command.find === 'tickets' ? [command] : []));

const idOf = (found: object | null) => (found as { state: { id: string } } | null)?.state.id ?? null;

it('requests that come during a query share the next one, and each sees its own organization alone', async () => {
  const [a, otherKey, b] = [open('org_a'), open('org_a', 'key_2'), open('org_b')];
  const found = await Promise.all([
    a.find(shape, 'ti_1'),
    a.find(shape, 'ti_2'),
    b.find(shape, 'ti_2'),
    b.find(shape, 'ti_b'),
    a.find(shape, 'ti_b'),
    otherKey.find(shape, 'ti_2'),
    otherKey.find(shape, 'ti_none'),
  ]);
  expect(found.map(idOf)).toEqual(['ti_1', 'ti_2', null, 'ti_b', null, 'ti_2', null]);
  const filters = finds().map(({ filter }) => filter as object);
  expect(filters).toHaveLength(2);
  // In any order: a first query that still waits for its connection after 20 ms delays the second no longer.
  expect(filters).toContainEqual({ _id: { $in: ['ti_1'] }, orgId: { $in: ['org_a'] } });
  expect(filters).toContainEqual({
    _id: { $in: ['ti_2', 'ti_b', 'ti_none'] },
    orgId: { $in: ['org_a', 'org_b'] },
  });
});

it('a shared query is a range of the index of ids', async () => {
  const reader = open('org_a');
  await Promise.all(['ti_1', 'ti_2', 'ti_3'].map((id) => reader.find(shape, id)));
  const { find, filter, hint, projection } = finds()[1] as Record<string, unknown>;
  const plan = planOf(await api.store.database.command({ explain: { find, filter, hint, projection } }));
  expect(plan).toMatchObject({ scans: ['_id_'], readsAll: false });
});

it('a client that leaves takes no answer away from others', async () => {
  const [leaving, staying] = [open('org_a'), open('org_b')];
  const reads = [leaving.find(shape, 'ti_1'), staying.find(shape, 'ti_b'), leaving.find(shape, 'ti_2')];
  const started = new Promise((resolve) => api.client.once('commandStarted', resolve));
  // Its first read starts the query that it leaves, its second one waits with that of the other client.
  await started;
  leaving.end();
  expect(idOf((await Promise.all(reads))[1] ?? null)).toBe('ti_b');
});
