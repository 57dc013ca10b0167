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

/** Readers of an API that is killed and started again, serves another generation, and then the first again. */
const ids = Array.from({ length: 30 }, (_, index) => `ti_${10 + index}`);
const unchanged = ids.map((id, index) => {
  const createdAt = new Date(Date.parse(build.at) + index * 1_000).toISOString();
  return { id, createdAt, updatedAt: createdAt };
});
const later = '2026-02-01T12:00:00.000Z';
/**
 * Readers meet the first ticket before the promotion; a reader by `updatedAt` reaches the second afterwards; the third
 * is new.
 */
const changed = [
  ...unchanged.filter(({ id }) => ['ti_12', 'ti_31'].includes(id)),
  { id: 'ti_new', createdAt: later },
].map((fields) => ({ ...fields, updatedAt: later }));

// Before the hook of the processes, which closes the connection.
afterAll(() => databaseOf(2).dropDatabase());
const children = useApiProcesses();
let api: ApiProcess;

const ticketsOf = (fields: { id: string }[], generation: number) =>
  fields.map((each) => build.ticket({ ...each, title: `of generation ${generation}` }));
const databaseOf = (number: number) =>
  generationDatabase(children.store.control.client, children.store.name, number);
const start = (port = '0') => children.startServing({ API_PORT: port });

/** Serves a generation, and waits until the API reads it. */
async function serve(number: number): Promise<void> {
  const at = new Date();
  const acceptance = { finding: 'older' as const, at, by: 'ann', why: 'test', seen: [] };
  const generations = [1, 2].map((each): Generation => {
    const state = each === number ? 'active' : 'standby';
    return { number: each, projectionVersion, state, since: at, registeredAt: at, accepted: [acceptance] };
  });
  await generationsOf(children.store.control).updateOne(
    { _id: 'active' },
    { $set: { generation: number, generations } },
  );
  await eventually(async () =>
    (await ask(api, '/v1/tickets/ti_10')).text.includes(`of generation ${number}`),
  );
}

/** Writes the changes to a generation, which is then complete to an instant after them. */
async function applyChanges(number: number): Promise<void> {
  const documents = ticketsOf(changed, number);
  await databaseOf(number)
    .collection<{ _id: string }>('tickets')
    .deleteMany({ _id: { $in: documents.map(({ _id }) => _id) } });
  await build.store(databaseOf(number), 'ticket', documents);
  await build.dataAsOf(children.store.control, new Date('2026-02-02T00:00:00Z'), number);
}

beforeEach(async () => {
  for (const number of [1, 2]) {
    await databaseOf(number).collection('tickets').deleteMany({});
    await build.store(databaseOf(number), 'ticket', ticketsOf(unchanged, number));
    await build.dataAsOf(children.store.control, new Date('2026-02-01T00:00:00Z'), number);
  }
  await ensureIndexes(databaseOf(2));
  await build.store(databaseOf(2), 'apiKey', [build.apiKey(tokens.a, { id: 'key_a' })]);
  await applyChanges(2);
  api = await start();
  await serve(1);
});
// Empties the collections: a session of DocumentDB may cache a dropped collection, and then miss its successor.
afterEach(async () => {
  await api.stop();
  for (const collection of await databaseOf(2).collections()) await collection.deleteMany({});
});

/** A client whose API is killed at its second request, serves generation 2 at the fifth, and 1 again at the seventh. */
function disturbed(): Client {
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
      if (requests === 5) await serve(2);
      if (requests === 7) await serve(1);
      return fetch(url, init);
    },
  }).client;
}

const versionOf = ({ id, updatedAt }: { id: string; updatedAt: string }) => `${id} of ${updatedAt}`;

test('a list by createdAt gives each ticket once', async () => {
  const tickets = await Array.fromAsync(disturbed().tickets.list({ limit: 5, sort: 'createdAt' }));
  expect(tickets.map(({ id }) => id)).toEqual(ids);
  expect(new Set(tickets.map(({ title }) => title))).toEqual(new Set(['of generation 1', 'of generation 2']));
});

test('an export gives no version of a ticket twice in one run, and the next run ends with the final state', async () => {
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
  const first = await run(disturbed());
  expect(new Set(first).size).toBe(first.length);
  // Generation 2 showed ti_31 as changed, at the end of the list, and generation 1 as unchanged, before the cursor.
  expect(first).toEqual(
    unchanged
      .filter(({ id }) => id !== 'ti_31')
      .map(shown)
      .map(versionOf),
  );

  await applyChanges(1);
  await serve(1);
  const quiet = connect({ baseUrl: `http://127.0.0.1:${api.port}` }).client;
  expect((await run(quiet)).toSorted()).toEqual(changed.map(shown).map(versionOf).toSorted());
  const expected = await Array.fromAsync(quiet.tickets.list({ limit: 100 }));
  expect([...copy.values()].toSorted()).toEqual(expected.map(versionOf).toSorted());
});

/** As responses show it, to the second. */
const shown = ({ id, updatedAt }: { id: string; updatedAt: string }) => ({
  id,
  updatedAt: updatedAt.replace('.000Z', 'Z'),
});
