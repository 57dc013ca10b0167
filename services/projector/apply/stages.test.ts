import type { Histogram } from 'prom-client';
import { emptyData, memoryStore } from '../../../tests/simulation/memory-store.ts';
import { recordOf } from '../../../tests/support/engine.ts';
import { created } from '../../../tests/support/entities.ts';
import type { Store } from '../materialize/store.ts';
import { createMetrics } from '../metrics.ts';
import { observeStages, stages, timeStore } from './stages.ts';

beforeEach(() => jest.useFakeTimers({ now: 1_000_000 }));
afterEach(() => jest.useRealTimers());

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A store whose reads take 100 ms, and whose writes take 200 ms. */
function slowStore(): Store {
  const memory = memoryStore(emptyData());
  return {
    ...memory,
    readCurrent: async (...args) => {
      await wait(100);
      return memory.readCurrent(...args);
    },
    readRevisions: async (...args) => {
      await wait(100);
      return memory.readRevisions(...args);
    },
    write: async (...args) => {
      await wait(200);
      return memory.write(...args);
    },
  };
}

/** The observed seconds of each stage, together. */
async function sumsOf(stageSeconds: Histogram<'stage'>): Promise<Map<unknown, number>> {
  const { values } = await stageSeconds.get();
  const sums = values.filter(({ metricName }) => metricName?.endsWith('_sum'));
  return new Map(sums.map(({ labels, value }) => [labels.stage, value]));
}

describe('the stages of a group', () => {
  test('are the calls of the store and the work between these calls', async () => {
    const { store, end } = timeStore(slowStore());
    await pass(5);
    void store.readCurrent('tag', ['tag_1']);
    await pass(107);
    void store.write('tag', []);
    await pass(200);
    expect(end().ms).toEqual({ work: 12, read: 100, write: 200 });
  });

  test('count the time of overlapping calls once, even if a call fails', async () => {
    const readEntities = async () => {
      await wait(130);
      throw new Error('the store is away');
    };
    const { store, end } = timeStore({ ...slowStore(), readEntities });
    store.readEntities(new Map()).catch(() => undefined);
    await pass(50);
    void store.readRevisions(new Map());
    await pass(1_000);
    expect(end().ms).toEqual({ work: 900, read: 150, write: 0 });
  });
});

test('the stages of a chunk add up to the time from its timestamp to its effect', async () => {
  const { stageSeconds } = createMetrics();
  const first = recordOf(created('tag', 'tag_1'), 0);
  const timestampMs = Date.now() - 4_000;
  const records = [{ ...first, position: { ...first.position, timestampMs } }];
  const fetchedMs = performance.now();
  await pass(30);
  const nextMs = performance.now();
  await pass(500);
  const takenMs = performance.now();
  await pass(50);
  const begunMs = performance.now();
  const { store, end } = timeStore(slowStore());
  await pass(7);
  void store.write('tag', []);
  await pass(200);
  const firstPhase = end();
  await pass(1_000);
  const arrival = { fetchedMs, nextMs, takenMs };
  observeStages(stageSeconds, { records, arrival }, { begunMs, firstPhase, now: new Date() });
  const seconds = await sumsOf(stageSeconds);
  expect(Object.fromEntries(seconds)).toEqual({
    delivery: 4,
    queue: 0.03,
    prerequisites: 0.5,
    gather: 0.05,
    work: 0.007,
    read: 0,
    write: 0.2,
    finish: 1,
  });
  expect([...seconds.keys()]).toEqual([...stages]);
});

test.each([-1, -(2 ** 63)])(
  'the delivery time of a record with the timestamp %d is 0',
  async (timestampMs) => {
    const { stageSeconds } = createMetrics();
    const record = recordOf(created('tag', 'tag_1'), 0);
    const records = [{ ...record, position: { ...record.position, timestampMs } }];
    const nowMs = performance.now();
    const arrival = { fetchedMs: nowMs, nextMs: nowMs, takenMs: nowMs };
    const { end } = timeStore(slowStore());
    observeStages(stageSeconds, { records, arrival }, { begunMs: nowMs, firstPhase: end(), now: new Date() });
    const seconds = await sumsOf(stageSeconds);
    expect(seconds.get('delivery')).toBe(0);
  },
);

test('a chunk that is fetched after the end of the former chunk has no queue time', async () => {
  const { stageSeconds } = createMetrics();
  const nextMs = performance.now();
  await pass(90);
  const fetchedMs = performance.now();
  await pass(10);
  const takenMs = performance.now();
  const { end } = timeStore(slowStore());
  const chunk = { records: [recordOf(created('tag', 'tag_1'), 0)], arrival: { fetchedMs, nextMs, takenMs } };
  observeStages(stageSeconds, chunk, { begunMs: takenMs, firstPhase: end(), now: new Date() });
  const seconds = await sumsOf(stageSeconds);
  expect(Object.fromEntries(seconds)).toMatchObject({ queue: 0, prerequisites: 0.01 });
});
