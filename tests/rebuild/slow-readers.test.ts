import { dropGeneration } from '../../services/operations/rebuild/drop.ts';
import { beginDrop } from '../../services/operations/rebuild/transitions.ts';
import { generationsOf } from '../../shared/control/generations.ts';
import { processesOf, type Replica } from '../../shared/control/processes.ts';
import { changeRegistry } from '../../shared/control/registry.ts';
import { storeTime } from '../../shared/store/clock.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import * as build from '../api/builders.ts';
import { startApi, type TestApi, tokens } from '../api/test-api.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { generation, useRebuild } from './fixture.ts';

/** 50 MB: the buffers of a connection on one host may grow to more than 32 MB. */
const messageCount = 500;
const content = { content: 'x'.repeat(100_000) };
const longAgo = new Date('2020-01-01T00:00:00Z');

type Outcome = number | 'broken';

let api: TestApi;

afterAll(() => api.close());
const rebuild = useRebuild();
beforeAll(async () => {
  await storeGenerations(2);
  const { mongo: client, name } = rebuild;
  api = await startApi({ client, name });
});

/** Makes this generation active, with a long conversation, and the previous generation a standby. */
async function storeGenerations(active: number): Promise<void> {
  const standby = active - 1;
  await rebuild.storeGenerations([
    generation(standby, 'standby', { since: longAgo }),
    generation(active, 'active'),
  ]);
  const messages = Array.from({ length: messageCount }, (_, index) =>
    build.message({ id: `msg_${String(index).padStart(4, '0')}`, ...content }),
  );
  for (const number of [standby, active]) {
    const database = rebuild.databaseOf(number);
    await ensureIndexes(database);
    await build.store(database, 'apiKey', [build.apiKey(tokens.a, { id: 'key_a' })]);
    await build.store(database, 'conversation', [build.conversation({ id: 'conv_1' })]);
    await build.store(database, 'message', number === active ? messages : []);
  }
}

/**
 * Waits until the replica has noticed a switch, which any request makes it do, and announced it with this number of
 * readers of the generation before. The replica's first announcement may also count the request that triggered it.
 */
const untilServed = (served: number, readers = 0) =>
  eventually(async () => {
    await api.get('/v1/tickets?limit=1');
    const replica = await processesOf<Replica>(rebuild.control).findOne();
    const earlierRequests =
      replica?.inProgress.find(({ generation: read }) => read !== served)?.requests ?? 0;
    return (replica?.generation === served && earlierRequests === readers) || notYet(replica);
  });

/** Two readers that have received the beginning of the conversation. `read` reads the rest. */
async function startReaders(): Promise<{ read: () => Promise<Outcome[]> }> {
  // Compressed, the conversation would fit into the buffers.
  const headers = {
    authorization: `Bearer ${tokens.a}`,
    'x-forwarded-proto': 'https',
    'accept-encoding': 'identity',
  };
  const responses = await Promise.all(
    [1, 2].map(() => fetch(`${api.url}/v1/conversations/conv_1`, { headers })),
  );
  const readMessageCount = async (response: Response): Promise<Outcome> => {
    const text = await response.text().catch(() => 'broken');
    return text === 'broken' ? text : (JSON.parse(text) as { messages: unknown[] }).messages.length;
  };
  return { read: () => Promise.all(responses.map(readMessageCount)) };
}

/** Rolls back to the generation before this one, long enough ago for every replica to notice. */
async function rollBackFrom(active: number): Promise<void> {
  const standby = active - 1;
  const acceptance = { finding: 'older' as const, at: longAgo, by: 'ann', why: 'test', seen: [] };
  const generations = [
    generation(standby, 'active', { since: longAgo, accepted: [acceptance] }),
    generation(active, 'standby', { since: longAgo }),
  ];
  const rolledBack = { generation: standby, generations };
  await generationsOf(rebuild.control).updateOne({ _id: 'active' }, { $set: rolledBack });
  await untilServed(standby, 2);
}

test('a drop waits until requests in progress have their complete responses', async () => {
  await untilServed(2);
  const readers = await startReaders();
  await rollBackFrom(2);
  const lines: string[] = [];
  const drop = (timeoutSeconds: number) => {
    const now = () => storeTime(rebuild.control);
    const deps = rebuild.deps({ now, report: (line) => lines.push(line) });
    return dropGeneration(deps, 2, { force: true, why: 'test', timeoutSeconds });
  };
  await expect(drop(0)).rejects.toThrow(`2 requests in process ${process.pid}`);
  const dropped = drop(600);
  await eventually(() => lines.some((line) => line.includes('2 requests')));
  expect(await readers.read()).toEqual([messageCount, messageCount]);
  expect(await dropped).toBe('dropped');
});

test('a response never ends as complete JSON if its generation is dropped in the meantime', async () => {
  await storeGenerations(4);
  await untilServed(4);
  const readers = await startReaders();
  await rollBackFrom(4);
  // The generation is dropped by a command that does not know this replica.
  const cause = { by: 'ann@host', at: new Date(), why: 'test' };
  await changeRegistry(rebuild.control, beginDrop(4, cause));
  await rebuild.databaseOf(4).dropDatabase();
  expect(await readers.read()).toEqual(['broken', 'broken']);
});
