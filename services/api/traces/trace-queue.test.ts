import { pino } from 'pino';
import type { RequestTrace } from '../../../shared/control/request-traces.ts';
import { createMetrics } from '../metrics.ts';
import { startTraceQueue } from './trace-queue.ts';

const idsOf = (count: number) => Array.from({ length: count }, (_, index) => `req_${index}`);
const batches: string[][] = [];
const lines: object[] = [];
const none = { unauthenticated_budget: 0, queue_full: 0, shutdown: 0 };
let isAway = false;
let queue: ReturnType<typeof startTraceQueue>;
let lost: () => Promise<typeof none>;

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'clearImmediate'] });
  isAway = false;
  batches.length = 0;
  lines.length = 0;
  const { tracesLost } = createMetrics();
  queue = startTraceQueue({
    write: async (batch) => {
      batches.push(batch.map(({ _id }) => _id));
      if (isAway) throw new Error('away');
    },
    lost: tracesLost,
    logger: pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line) as object) }),
  });
  lost = async () =>
    Object.fromEntries(
      (await tracesLost.get()).values.map(({ labels, value }) => [labels.reason, value]),
    ) as typeof none;
});
afterEach(() => jest.useRealTimers());

const add = (ids: string[]) => ids.forEach((_id) => queue.add({ _id } as RequestTrace));
const flush = () => jest.advanceTimersByTimeAsync(500);

test('writes full batches immediately, and the remaining traces at the stop', async () => {
  add(idsOf(1_100));
  await flush();
  expect(batches.flat()).toEqual(idsOf(1_000));
  await queue.stop();
  expect(batches.flat()).toEqual(idsOf(1_100));
  expect(await lost()).toEqual(none);
});

test('keeps 10,000 traces while the store is away, and counts and logs the dropped others', async () => {
  isAway = true;
  add(idsOf(10_015));
  for (let times = 0; times < 3; times += 1) await flush();
  expect(await lost()).toEqual({ ...none, queue_full: 15 });
  expect(lines).toMatchObject([{ traces: 15 }, { error: {} }]);
  isAway = false;
  batches.length = 0;
  await queue.stop();
  expect(batches.flat()).toEqual(idsOf(10_000));
});

test('counts as lost the traces that are unwritten three seconds after a stop', async () => {
  isAway = true;
  add(idsOf(1));
  const stopped = queue.stop();
  await jest.advanceTimersByTimeAsync(3_000);
  await stopped;
  expect(await lost()).toEqual({ ...none, shutdown: 1 });
  expect(lines).toMatchObject([{ error: {} }, { traces: 1 }]);
});

test('repeats a failed batch unchanged, because the store may have the batch', async () => {
  isAway = true;
  add(['req_0']);
  await flush();
  add(['req_1']);
  isAway = false;
  await queue.stop();
  expect(batches).toEqual([['req_0'], ['req_0'], ['req_1']]);
});
