import { promises as timers } from 'node:timers';
import { MongoNetworkError } from 'mongodb';
import { rawBatch } from '../../../tests/support/example-responses.ts';
import { startWorker } from '../../../tests/support/start-worker.ts';
import type { Watch } from '../hand-over.ts';
import { createBudget, createRecordQueue, type RecordQueue } from './record-queue.ts';

const batch = (lastOffset: number, ...offsets: number[]) =>
  rawBatch({ baseOffset: offsets[0] ?? 0, lastOffset, records: offsets.map((offset) => ({ offset })) });
const nothingApplied = { events: 0, rejected: [], times: [] };
const idle = () => new Promise((resolve) => setImmediate(resolve));
const nothingIsDone = () => undefined;
const until = async (isDone: () => boolean) => {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 1));
};

/** A queue, and how often it was told to give the memory of its batch back. */
function watchedQueue() {
  const queue = createRecordQueue({
    partition: 0,
    budget: createBudget(1, () => undefined),
    chunkBytesMax: () => 1_000,
  });
  const calls = { park: 0, close: 0 };
  const count = (name: keyof typeof calls) => () => {
    calls[name] += 1;
    queue[name]();
  };
  return { queue: { ...queue, park: count('park'), close: count('close') }, calls };
}

/** A worker at offset 5. The test decides when each attempt to apply a batch fails or ends. */
function given() {
  type Attempt = { offsets: number[]; end: () => void; fail: (error?: Error) => void };
  const attempts: (Attempt & Watch)[] = [];
  const applied: (number | null)[] = [];
  const worker = startWorker(5, {
    apply: ({ records }, watch) =>
      new Promise((resolve, reject) => {
        const offsets = records.map(({ position }) => position.offset);
        const fail = (error = new Error('refused by MongoDB')) => reject(error);
        attempts.push({ offsets, end: () => resolve(nothingApplied), fail, ...watch });
      }),
    onApplied: (self) => applied.push(self.position),
  });
  worker.push([batch(8, 5, 7)], 9);
  /** The attempt of this number, from 0 on, once it is made. */
  const attempt = async (number: number) => {
    await until(() => attempts.length > number);
    return attempts[number] as (typeof attempts)[number];
  };
  return { worker, attempts, attempt, applied };
}

it('a worker without memory for its next batch tries again', async () => {
  const { queue } = watchedQueue();
  let failures = 2;
  const worker = startWorker(5, {
    queue: { ...queue, take: (at) => ((failures -= 1) < 0 ? queue.take(at) : Promise.reject(new Error())) },
    apply: async () => nothingApplied,
    onApplied: nothingIsDone,
  });
  worker.push([batch(5, 5)], 6);
  await until(() => worker.position === 6);
});

it('a worker pauses for longer after each failed attempt, and for ten seconds at most', async () => {
  const pauses: unknown[] = [];
  const sleep = jest.spyOn(timers, 'setTimeout').mockImplementation(async (ms) => pauses.push(ms));
  let failures = 4;
  const worker = startWorker(5, {
    apply: () => ((failures -= 1) < 0 ? Promise.resolve(nothingApplied) : Promise.reject(new Error())),
    onApplied: nothingIsDone,
    retryDelayMs: 4_000,
  });
  worker.push([batch(5, 5)], 6);
  await until(() => worker.position === 6);
  sleep.mockRestore();
  expect(pauses).toEqual([4_000, 8_000, 10_000, 10_000]);
});

describe('the position of a worker', () => {
  it('stays before a batch until it is applied; a failed one is retried', async () => {
    const { worker, attempts, attempt, applied } = given();
    (await attempt(0)).fail();
    const again = await attempt(1);
    expect([worker.position, ...attempts.map(({ offsets }) => offsets)]).toEqual([5, [5, 7], [5, 7]]);
    again.end();
    await idle();
    expect([worker.position, applied]).toEqual([9, [9]]);
  });

  it('stays before a batch that is aborted', async () => {
    const { worker, attempt } = given();
    const { signal, fail } = await attempt(0);
    const stopped = worker.stop(0);
    await until(() => signal.aborted);
    expect(() => signal.throwIfAborted()).toThrow('no longer assigned');
    fail();
    await stopped;
    expect(worker.position).toBe(5);
  });
});

it('a worker reads which records are set aside before each attempt but the first', async () => {
  const reads: number[] = [];
  const given: unknown[] = [];
  const worker = startWorker(5, {
    readSetAside: async () => new Map([[7, `read ${reads.push(given.length)}`]]),
    apply: async ({ setAside }) => {
      if (given.push(setAside?.get(7)) < 3) throw new Error('refused by MongoDB');
      return nothingApplied;
    },
    onApplied: nothingIsDone,
  });
  worker.push([batch(8, 5, 7)], 9);
  await until(() => worker.position === 9);
  expect({ reads, given }).toEqual({ reads: [1, 2], given: [undefined, 'read 1', 'read 2'] });
  // and not for the next batch
  worker.push([batch(9, 9)], 10);
  await until(() => worker.position === 10);
  expect(reads).toHaveLength(2);
});

describe('the progress count of a worker', () => {
  it('grows while MongoDB is away, since a restart would not help, and not if it refuses the batch', async () => {
    const { worker, attempt } = given();
    const counts: number[] = [];
    for (const error of [new MongoNetworkError('reset'), new Error('refused by MongoDB')]) {
      (await attempt(counts.length)).fail(error);
      await idle();
      counts.push(worker.progressCount);
    }
    expect(counts).toEqual([1, 1]);
    (await attempt(2)).end();
  });

  it('grows only when an attempt gets further than every attempt before it', async () => {
    const { worker, attempt } = given();
    // given an attempt that completes two chunks and fails
    const first = await attempt(0);
    for (let chunk = 0; chunk < 2; chunk += 1) first.onProgress();
    expect(worker.progressCount).toBe(2);
    first.fail();
    // when the next attempt gets as far, then that is no progress, but a third chunk is
    const second = await attempt(1);
    for (let chunk = 0; chunk < 2; chunk += 1) second.onProgress();
    expect(worker.progressCount).toBe(2);
    second.onProgress();
    expect(worker.progressCount).toBe(3);
    // and after a page that is saved, the next attempt begins there: its second part is the first that is new
    second.onProgress(true);
    second.fail();
    const third = await attempt(2);
    third.onProgress();
    expect(worker.progressCount).toBe(4);
    third.onProgress();
    expect(worker.progressCount).toBe(5);
    third.end();
  });
});

it('a worker names why its records wait', async () => {
  const { worker, attempt } = given();
  const first = await attempt(0);
  first.onQueued?.(true);
  expect(worker.delay).toBe('one_at_a_time');
  first.onQueued?.(false);
  expect(worker.delay).toBe('backlog');
  first.onFanOut?.(700);
  expect([worker.delay, worker.fanOutWaiting]).toEqual(['backlog', 700]);
  first.fail();
  const second = await attempt(1);
  expect([worker.delay, worker.fanOutWaiting]).toEqual(['failing', 0]);
  second.end();
});

it('a worker that waits for its turn says so, and gives the memory of its batch back', async () => {
  let endWait = () => {};
  const { queue, calls } = watchedQueue();
  const worker = startWorker(5, {
    queue,
    waitForTurn: (_, __, onWait) => {
      onWait();
      return new Promise((resolve) => (endWait = resolve));
    },
    apply: () => new Promise(() => undefined),
    onApplied: nothingIsDone,
  });
  worker.push([batch(8, 5, 7)], 9);
  expect([worker.delay, calls.park]).toEqual(['prerequisites', 1]);
  endWait();
  await idle();
  expect(worker.delay).toBe('backlog');
});

it('a worker that is stopped while it takes records applies none of them, and gives their memory back', async () => {
  const taken = Promise.withResolvers<Awaited<ReturnType<RecordQueue['take']>>>();
  const { queue, calls } = watchedQueue();
  const apply = jest.fn(async () => nothingApplied);
  const worker = startWorker(5, {
    queue: { ...queue, isEmpty: () => false, take: () => taken.promise },
    apply,
    onApplied: nothingIsDone,
  });
  worker.push([batch(5, 5)], 6);
  const chunk = await queue.take(5);
  expect(chunk.records).toHaveLength(1);
  const stopped = worker.stop(3_600_000);
  taken.resolve(chunk);
  await stopped;
  expect([apply.mock.calls, worker.position, calls.close]).toEqual([[], 5, 1]);
});

it('a worker that is stopped finishes its batch, and starts no other', async () => {
  const { worker, attempts, attempt } = given();
  const first = await attempt(0);
  worker.push([batch(9, 9)], 10);
  const stopped = worker.stop(3_600_000);
  first.end();
  await stopped;
  expect([attempts.length, worker.position]).toEqual([1, 9]);
});

it('a worker that stops tells at once that it stops, and only later that its partition is lost', async () => {
  const { worker, attempt } = given();
  const { stopping, signal, fail } = await attempt(0);
  stopping?.addEventListener('abort', () => fail());
  await worker.stop(3_600_000);
  expect([stopping?.aborted, signal.aborted, worker.position]).toEqual([true, false, 5]);
});

it('a worker that stops between two attempts makes no other, and does not wait for it', async () => {
  const attempted = Promise.withResolvers<void>();
  let attempts = 0;
  const worker = startWorker(5, {
    apply: () => {
      attempts += 1;
      attempted.resolve();
      return Promise.reject(new MongoNetworkError('away'));
    },
    onApplied: nothingIsDone,
    retryDelayMs: 10_000,
  });
  worker.push([batch(5, 5)], 6);
  await attempted.promise;
  await idle();
  await worker.stop(3_600_000);
  expect([attempts, worker.position]).toEqual([1, 5]);
});
