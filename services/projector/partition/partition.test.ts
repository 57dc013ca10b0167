import { AssertionError } from 'node:assert';
import { MongoNetworkError } from 'mongodb';
import { createLogOutput } from '../../../shared/runtime/log-output.ts';
import { createLogger } from '../../../shared/runtime/logger.ts';
import { idle } from '../../../tests/support/idle.ts';
import { matching } from '../../../tests/support/matchers.ts';
import {
  createPartition,
  received,
  startAt,
  startPartition,
} from '../../../tests/support/start-partition.ts';
import { batch, createTestPartition, nothingApplied, until } from '../../../tests/support/test-partition.ts';
import { createBudget } from './budget.ts';
import type { PartitionDeps } from './partition.ts';
import { createRecordQueue, type RecordQueue } from './record-queue.ts';

/** A queue, and how often its partition has released the memory of its batch. */
function countingQueue() {
  const queue = createRecordQueue({
    partition: 0,
    loadWithinBudget: createBudget(1, () => undefined),
    chunkBytesMax: () => 1_000,
  });
  const calls = { releaseBatch: 0, close: 0 };
  const count = (name: keyof typeof calls) => () => {
    calls[name] += 1;
    queue[name]();
  };
  return { queue: { ...queue, releaseBatch: count('releaseBatch'), close: count('close') }, calls };
}

test('a partition without memory for its next batch tries again', async () => {
  const { queue } = countingQueue();
  let failures = 2;
  const partition = startPartition(5, {
    queue: {
      ...queue,
      take: (position) => {
        failures -= 1;
        return failures < 0 ? queue.take(position) : Promise.reject(new Error());
      },
    },
    apply: async () => nothingApplied,
  });
  partition.receive(received([batch(5, 5)], 6));
  await until(() => partition.position === 6);
});

test('the pauses after failed attempts grow to ten seconds', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate'] });
  const attemptedAt: number[] = [];
  const partition = startPartition(5, {
    apply: () => {
      attemptedAt.push(Date.now());
      return attemptedAt.length > 4 ? Promise.resolve(nothingApplied) : Promise.reject(new Error());
    },
    retryDelayMs: 4_000,
  });
  partition.receive(received([batch(5, 5)], 6));
  while (attemptedAt.length === 0) await idle();
  for (const ms of [4_000, 8_000, 10_000, 10_000]) await jest.advanceTimersByTimeAsync(ms);
  while (partition.position !== 6) await idle();
  jest.useRealTimers();
  const pauses = attemptedAt.slice(1).map((ms, index) => ms - (attemptedAt[index] ?? 0));
  expect(pauses).toEqual([4_000, 8_000, 10_000, 10_000]);
});

describe('the position of a partition', () => {
  test('the position stays before a batch until an attempt succeeds', async () => {
    const { partition, attempts, attempt, applied } = createTestPartition();
    (await attempt(0)).fail();
    const secondAttempt = await attempt(1);
    expect({ position: partition.position, attempts: attempts.map(({ offsets }) => offsets) }).toEqual({
      position: 5,
      attempts: [
        [5, 7],
        [5, 7],
      ],
    });
    secondAttempt.end();
    await idle();
    expect({ position: partition.position, applied }).toEqual({ position: 9, applied: [9] });
  });

  test('the position stays before a batch that is aborted', async () => {
    const { partition, attempt } = createTestPartition();
    const { signal, fail } = await attempt(0);
    const stopped = partition.stop(0);
    await until(() => signal.aborted);
    expect(() => signal.throwIfAborted()).toThrow('no longer assigned');
    fail();
    await stopped;
    expect(partition.position).toBe(5);
  });
});

test('a partition reads the skips before each attempt except the first', async () => {
  const reads: number[] = [];
  const receivedSkips: unknown[] = [];
  const partition = startPartition(5, {
    readSkips: async () =>
      new Map([[7, { reason: 'skipped', detail: `read ${reads.push(receivedSkips.length)}` }]]),
    apply: async ({ skipped }) => {
      if (receivedSkips.push(skipped?.get(7)?.detail) < 3) throw new Error('refused by MongoDB');
      return nothingApplied;
    },
  });
  partition.receive(received([batch(8, 5, 7)], 9));
  await until(() => partition.position === 9);
  expect({ reads, given: receivedSkips }).toEqual({ reads: [1, 2], given: [undefined, 'read 1', 'read 2'] });
  // The first attempt of the next batch reads no skips.
  partition.receive(received([batch(9, 9)], 10));
  await until(() => partition.position === 10);
  expect(reads).toHaveLength(2);
});

describe('the progress count of a partition', () => {
  test('the count grows while MongoDB is away, but not while MongoDB refuses the batch', async () => {
    const { partition, attempt } = createTestPartition();
    const counts: number[] = [];
    for (const error of [new MongoNetworkError('reset'), new Error('refused by MongoDB')]) {
      (await attempt(counts.length)).fail(error);
      await idle();
      counts.push(partition.snapshot().progressCount);
    }
    expect(counts).toEqual([1, 1]);
    (await attempt(2)).end();
  });

  test('the count grows only when an attempt gets further than every attempt before it', async () => {
    const { partition, attempt } = createTestPartition();
    // The first attempt completes two parts and fails.
    const first = await attempt(0);
    for (let chunk = 0; chunk < 2; chunk += 1) first.onProgress();
    expect(partition.snapshot().progressCount).toBe(2);
    first.fail();
    // The second attempt repeats these two parts without progress. Its third part is progress.
    const second = await attempt(1);
    for (let chunk = 0; chunk < 2; chunk += 1) second.onProgress();
    expect(partition.snapshot().progressCount).toBe(2);
    second.onProgress();
    expect(partition.snapshot().progressCount).toBe(3);
    // A saved page is progress. The third attempt begins at that page, so its second part is the first new one.
    second.onProgress(true);
    second.fail();
    const third = await attempt(2);
    third.onProgress();
    expect(partition.snapshot().progressCount).toBe(4);
    third.onProgress();
    expect(partition.snapshot().progressCount).toBe(5);
    third.end();
  });
});

test('a partition rejects a second start, a start outside its log and a fetch backwards', () => {
  const partition = createPartition({ apply: async () => nothingApplied });
  expect(() => partition.receive(received([], 6))).toThrow('is fetched once it is started');
  expect(() => partition.start({ ...startAt(5), endOffset: 4 }, 5)).toThrow('starts within its log');
  partition.start(startAt(5), 5);
  expect(() => partition.start(startAt(5), 5)).toThrow('is started once');
  expect(() => partition.receive(received([], 4))).toThrow('never falls');
});

test('a partition logs each change of its state with the former state', async () => {
  const lines: string[] = [];
  const output = { ...createLogOutput(), write: (line: string) => void lines.push(line) };
  const partition = startPartition(5, {
    apply: async () => nothingApplied,
    logger: createLogger('projector', 'debug', output),
  });
  partition.receive(received([batch(5, 5)], 6));
  await until(() => partition.position === 6);
  await partition.stop(0);
  const applying = { name: 'applying', isConflicting: false };
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { msg: 'partition state', before: { name: 'finding-start' }, after: { name: 'idle' }, position: 5 },
    { before: { name: 'idle' }, after: applying, position: 5 },
    { before: applying, after: { name: 'idle' }, position: 6 },
    { before: { name: 'idle' }, after: { name: 'stopped' }, position: 6 },
  ]);
});

test('a partition that waits for prerequisites releases the memory of its batch', async () => {
  let endWait = () => {};
  const { queue, calls } = countingQueue();
  const partition = startPartition(5, {
    queue,
    waitForPrerequisites: (_, __, onWait) => {
      onWait();
      return new Promise((resolve) => {
        endWait = resolve;
      });
    },
    apply: () => new Promise(() => undefined),
  });
  partition.receive(received([batch(8, 5, 7)], 9));
  expect({ cause: partition.snapshot().cause, released: calls.releaseBatch }).toEqual({
    cause: 'prerequisites',
    released: 1,
  });
  endWait();
  await idle();
  expect(partition.snapshot().cause).toBe('backlog');
});

test('a partition that is stopped while it takes records releases their memory without applying them', async () => {
  const taken = Promise.withResolvers<Awaited<ReturnType<RecordQueue['take']>>>();
  const { queue, calls } = countingQueue();
  const apply = jest.fn(async () => nothingApplied);
  const partition = startPartition(5, {
    queue: { ...queue, isEmpty: () => false, take: () => taken.promise },
    apply,
  });
  partition.receive(received([batch(5, 5)], 6));
  const chunk = await queue.take(5);
  expect(chunk.records).toHaveLength(1);
  const stopped = partition.stop(3_600_000);
  taken.resolve(chunk);
  await stopped;
  expect({ applied: apply.mock.calls, position: partition.position, closed: calls.close }).toEqual({
    applied: [],
    position: 5,
    closed: 1,
  });
});

describe('a partition that violates an invariant', () => {
  const stopsWith = async (deps: Pick<PartitionDeps, 'apply'> & Partial<PartitionDeps>) => {
    const fatal = Promise.withResolvers<Error>();
    const partition = startPartition(5, { ...deps, onFatal: fatal.resolve });
    partition.receive(received([batch(5, 5), batch(6, 6)], 7));
    const { message, cause } = await fatal.promise;
    await idle();
    return { message, cause: (cause as Error).name, position: partition.position };
  };

  test('a partition stops before its position falls, and ends the process', async () => {
    const { queue } = countingQueue();
    const apply = jest.fn(async () => nothingApplied);
    const take = async (position: number) => ({ ...(await queue.take(position)), nextOffset: 4 });
    expect(await stopsWith({ queue: { ...queue, take }, apply })).toEqual({
      message: matching(/^t\/0 cannot go on: .*the position never falls$/),
      cause: 'AssertionError',
      position: 5,
    });
    expect(apply).toHaveBeenCalledTimes(1);
  });

  test('a partition does not try its chunk again after a broken invariant', async () => {
    const apply = jest.fn(() => Promise.reject(new AssertionError({ message: 'of the engine' })));
    expect(await stopsWith({ apply })).toEqual({
      message: matching(/^t\/0 cannot go on: .*of the engine$/),
      cause: 'AssertionError',
      position: 5,
    });
    expect(apply).toHaveBeenCalledTimes(1);
  });
});
