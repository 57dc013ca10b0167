import { type Client, exportChanges } from '../../clients/typescript/src/index.ts';
import { type Generation, generationsOf, projectionVersion } from '../../shared/control/generations.ts';
import { generationDatabase } from '../../shared/store/connection.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import { type ApiProcess, useApiProcesses } from '../api/api-processes.ts';
import * as build from '../api/builders.ts';
import { ask } from '../api/requests.ts';
import { tokens } from '../api/test-api.ts';
import { eventually } from '../support/eventually.ts';
import { connect } from './test-client.ts';

const ids = Array.from({ length: 30 }, (_, index) => `ti_${10 + index}`);
const unchanged = ids.map((id, index) => {
  const createdAt = new Date(Date.parse(build.at) + index * 1_000).toISOString();
  return { id, createdAt, updatedAt: createdAt };
});
const later = '2026-02-01T12:00:00.000Z';
/**
 * The fields of the changed tickets. Readers read ti_12 before the promotion, and a reader by `updatedAt` reaches ti_31
 * after the promotion. The third ticket is new.
 */
const changed = [
  ...unchanged.filter(({ id }) => ['ti_12', 'ti_31'].includes(id)),
  { id: 'ti_new', createdAt: later },
].map((fields) => ({ ...fields, updatedAt: later }));

// This hook comes before the hook of the processes, which closes the connection.
afterAll(() => databaseOf(2).dropDatabase());
const apis = useApiProcesses();
let api: ApiProcess;

const ticketsOf = (tickets: { id: string }[], generation: number) =>
  tickets.map((fields) => build.ticket({ ...fields, title: `of generation ${generation}` }));
const databaseOf = (number: number) => generationDatabase(apis.store.control.client, apis.store.name, number);
const start = (port = '0') => apis.startServing({ API_PORT: port });

/** Makes a generation the active one, and waits until the API reads it. */
async function promote(active: number): Promise<void> {
  const at = new Date();
  const acceptance = { finding: 'older' as const, at, by: 'ann', why: 'test', seen: [] };
  const generations = [1, 2].map((number): Generation => {
    const state = number === active ? 'active' : 'standby';
    return { number, projectionVersion, state, since: at, accepted: [acceptance] };
  });
  await generationsOf(apis.store.control).updateOne(
    { _id: 'active' },
    { $set: { generation: active, generations } },
  );
  await eventually(async () =>
    (await ask(api, '/v1/tickets/ti_10')).text.includes(`of generation ${active}`),
  );
}

/** Writes the changed tickets to a generation, and moves the Data-As-Of of the generation beyond the changes. */
async function applyChanges(number: number): Promise<void> {
  const documents = ticketsOf(changed, number);
  await databaseOf(number)
    .collection<{ _id: string }>('tickets')
    .deleteMany({ _id: { $in: documents.map(({ _id }) => _id) } });
  await build.store(databaseOf(number), 'ticket', documents);
  await build.dataAsOf(apis.store.control, new Date('2026-02-02T00:00:00Z'), number);
}

beforeEach(async () => {
  for (const number of [1, 2]) {
    await databaseOf(number).collection('tickets').deleteMany({});
    await build.store(databaseOf(number), 'ticket', ticketsOf(unchanged, number));
    await build.dataAsOf(apis.store.control, new Date('2026-02-01T00:00:00Z'), number);
  }
  await ensureIndexes(databaseOf(2));
  await build.store(databaseOf(2), 'apiKey', [build.apiKey(tokens.a, { id: 'key_a' })]);
  await applyChanges(2);
  api = await start();
  await promote(1);
});
// This empties the collections instead of dropping them. A session of DocumentDB may cache a dropped collection, and
// then miss its successor.
afterEach(async () => {
  await api.stop();
  for (const collection of await databaseOf(2).collections()) await collection.deleteMany({});
});

/**
 * Creates a client whose second request kills and restarts the API. Generation 2 becomes active at the fifth request,
 * and generation 1 again at the seventh.
 */
function createDisturbedClient(): Client {
  let requests = 0;
  let restarted: Promise<unknown> | undefined;
  const restart = async () => {
    await api.stop('SIGKILL');
    api = await start(String(api.port));
  };
  return connect({
    baseUrl: `http://127.0.0.1:${api.port}`,
    // The client first waits after the failure.
    onWait: () => restarted?.then(() => undefined),
    fetch: async (url, init) => {
      requests += 1;
      if (requests === 2) {
        restarted = restart();
        await api.exited;
      }
      if (requests === 5) await promote(2);
      if (requests === 7) await promote(1);
      return fetch(url, init);
    },
  }).client;
}

const versionOf = ({ id, updatedAt }: { id: string; updatedAt: string }) => `${id} of ${updatedAt}`;

test('a list by createdAt returns each ticket once across a restart and two promotions', async () => {
  const client = createDisturbedClient();
  const tickets = await Array.fromAsync(client.tickets.list({ limit: 5, sort: 'createdAt' }));
  expect(tickets.map(({ id }) => id)).toEqual(ids);
  expect(new Set(tickets.map(({ title }) => title))).toEqual(new Set(['of generation 1', 'of generation 2']));
});

test('a run of an export yields no version of a ticket twice across a restart and two promotions', async () => {
  const copy = new Map<string, string>();
  let since: string | undefined;
  const run = async (client: Client) => {
    const versions: string[] = [];
    for await (const batch of exportChanges({ client, limit: 5, since })) {
      if (!('ticket' in batch)) continue;
      versions.push(versionOf(batch.ticket));
      copy.set(batch.ticket.id, versionOf(batch.ticket));
      since = batch.since;
    }
    return versions;
  };
  const exported = await run(createDisturbedClient());
  expect(new Set(exported).size).toBe(exported.length);
  // Generation 2 showed ti_31 as changed, at the end of the list, and generation 1 as unchanged, before the cursor.
  const withoutMoved = unchanged.filter(({ id }) => id !== 'ti_31');
  expect(exported).toEqual(withoutMoved.map(presented).map(versionOf));

  // The next run ends with the final state.
  await applyChanges(1);
  await promote(1);
  const { client } = connect({ baseUrl: `http://127.0.0.1:${api.port}` });
  expect((await run(client)).toSorted()).toEqual(changed.map(presented).map(versionOf).toSorted());
  const expected = await Array.fromAsync(client.tickets.list({ limit: 100 }));
  expect([...copy.values()].toSorted()).toEqual(expected.map(versionOf).toSorted());
});

/** The fields of a ticket as responses present them: instants have no milliseconds. */
const presented = ({ id, updatedAt }: { id: string; updatedAt: string }) => ({
  id,
  updatedAt: updatedAt.replace('.000Z', 'Z'),
});
