import { pino } from 'pino';
import type { RequestTrace } from '../../../shared/control/request-traces.ts';
import { createMetrics, type Metrics } from '../metrics.ts';
import { startTraceQueue } from './trace-queue.ts';

const idsOf = (count: number) => Array.from({ length: count }, (_, index) => `req_${index}`);
const batches: string[][] = [];
const logLines: object[] = [];
const noneLost = { unauthenticated_budget: 0, queue_full: 0, shutdown: 0 };
let isStoreAway = false;
let queue: ReturnType<typeof startTraceQueue>;
let tracesLost: Metrics['tracesLost'];

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate'] });
  isStoreAway = false;
  batches.length = 0;
  logLines.length = 0;
  tracesLost = createMetrics().tracesLost;
  queue = startTraceQueue({
    write: async (batch) => {
      batches.push(batch.map(({ _id }) => _id));
      if (isStoreAway) throw new Error('away');
    },
    lost: tracesLost,
    logger: pino(
      { level: 'warn' },
      { write: (line: string) => void logLines.push(JSON.parse(line) as object) },
    ),
  });
});
afterEach(() => jest.useRealTimers());

async function readLost(): Promise<Record<string, number>> {
  const { values } = await tracesLost.get();
  const lost: Record<string, number> = {};
  for (const { labels, value } of values) lost[String(labels.reason)] = value;
  return lost;
}

const add = (ids: string[]) => ids.forEach((_id) => queue.add({ _id } as RequestTrace));
const flush = () => jest.advanceTimersByTimeAsync(500);

test('writes full batches immediately, and the remaining traces at the stop', async () => {
  add(idsOf(1_100));
  await flush();
  expect(batches.flat()).toEqual(idsOf(1_000));
  await queue.stop();
  expect(batches.flat()).toEqual(idsOf(1_100));
  expect(await readLost()).toEqual(noneLost);
});

test('keeps 10,000 traces while the store is away, and counts and logs the dropped others', async () => {
  isStoreAway = true;
  add(idsOf(10_015));
  // Every flush fails, but the queue logs only the first failure.
  for (let times = 0; times < 3; times += 1) await flush();
  expect(await readLost()).toEqual({ ...noneLost, queue_full: 15 });
  expect(logLines).toMatchObject([{ traces: 15 }, { error: {} }]);
  isStoreAway = false;
  batches.length = 0;
  await queue.stop();
  expect(batches.flat()).toEqual(idsOf(10_000));
});

test('counts as lost the traces that are unwritten three seconds after a stop', async () => {
  isStoreAway = true;
  add(idsOf(1));
  const stopped = queue.stop();
  await jest.advanceTimersByTimeAsync(3_000);
  await stopped;
  expect(await readLost()).toEqual({ ...noneLost, shutdown: 1 });
  expect(logLines).toMatchObject([{ error: {} }, { traces: 1 }]);
});

test('repeats a failed batch unchanged, because the store may have the batch', async () => {
  isStoreAway = true;
  add(['req_0']);
  await flush();
  add(['req_1']);
  isStoreAway = false;
  await queue.stop();
  expect(batches).toEqual([['req_0'], ['req_0'], ['req_1']]);
});
