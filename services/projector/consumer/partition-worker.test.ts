import { MongoNetworkError } from 'mongodb';
import { rawBatch } from '../../../tests/support/example-responses.ts';
import { emptyData, memoryStore } from '../../../tests/simulation/memory-store.ts';
import { applyChanges, changeOf, engineDeps } from '../../../tests/support/engine.ts';
import { created } from '../../../tests/support/entities.ts';
import type { Event } from '../../../tests/support/events.ts';
import { startWorker } from '../../../tests/support/start-worker.ts';
import type { UpdateDeps } from '../materialize/fan-out.ts';
import type { Store } from '../materialize/store.ts';
import type { PartitionWorkerDeps } from './partition-worker.ts';
import { createBudget, createRecordQueue, type RecordQueue } from './record-queue.ts';

const batch = (lastOffset: number, ...offsets: number[]) =>
  rawBatch({ baseOffset: offsets[0] ?? 0, lastOffset, records: offsets.map((offset) => ({ offset })) });
const nothingApplied = { events: 0, rejected: [], times: [] };
const idle = () => new Promise((resolve) => setImmediate(resolve));

/** A worker at offset 5. The test decides when each attempt to apply a batch fails or ends. */
function given() {
  type Attempt = { offsets: number[]; end: () => void; fail: (error?: Error) => void };
  const attempts: (Attempt & Parameters<PartitionWorkerDeps['apply']>[2])[] = [];
  const applied: (number | null)[] = [];
  const worker = startWorker(5, {
    apply: (_topic, records, context) =>
      new Promise((resolve, reject) => {
        const offsets = records.map(({ position }) => position.offset);
        const fail = (error = new Error('refused by MongoDB')) => reject(error);
        attempts.push({ offsets, end: () => resolve(nothingApplied), fail, ...context });
      }),
    onApplied: (self) => applied.push(self.position),
  });
  worker.push([batch(8, 5, 7)], 9);
  return { worker, attempts, applied };
}

it('a worker without memory for its next batch tries again', async () => {
  const queue = createRecordQueue({ partition: 0, budget: createBudget(1), chunkBytesMax: () => 1_000 });
  let failures = 2;
  const worker = startWorker(5, {
    queue: { ...queue, take: (at) => ((failures -= 1) < 0 ? queue.take(at) : Promise.reject(new Error())) },
    apply: async () => nothingApplied,
    onApplied: () => undefined,
  });
  worker.push([batch(5, 5)], 6);
  while (worker.position !== 6) await new Promise((resolve) => setTimeout(resolve, 1));
});

describe('the position of a worker', () => {
  it('stays before a batch until the batch is applied', async () => {
    const { worker, attempts, applied } = given();
    await idle();
    expect(attempts.map(({ offsets }) => offsets)).toEqual([[5, 7]]);
    expect(worker.position).toBe(5);
    attempts[0]?.end();
    await idle();
    expect([worker.position, applied]).toEqual([9, [9]]);
  });

  it('stays before a failed batch, which is retried', async () => {
    const { worker, attempts } = given();
    await idle();
    attempts[0]?.fail();
    while (attempts.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
    expect(worker.position).toBe(5);
    expect(attempts[1]?.offsets).toEqual([5, 7]);
    attempts[1]?.end();
    await idle();
    expect(worker.position).toBe(9);
  });

  it('stays before a batch that is aborted', async () => {
    const { worker, attempts } = given();
    await idle();
    const stopped = worker.stop(0);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(() => attempts[0]?.signal.throwIfAborted()).toThrow('no longer assigned');
    attempts[0]?.fail();
    await stopped;
    expect(worker.position).toBe(5);
  });
});

describe('the progress count of a worker', () => {
  it('grows with each page of a fan-out that resumes after a failure, and not if it fails there again', async () => {
    // given a contact with ten dependents, pages of one, and a store that fails at some of them
    const store = memoryStore(emptyData());
    const apply = (event: Event, deps: Partial<UpdateDeps> = {}) =>
      applyChanges(engineDeps({ ...store, ...deps.store }, deps), event.kind, [changeOf(event)]);
    await apply(created('contact', 'con_1'));
    const author = { type: 'contact', id: 'con_1' };
    for (let n = 0; n < 10; n += 1) await apply(created('message', `msg_${n}`, { author }));
    const counts: number[] = [];
    const failures = ['msg_7', 'msg_9', 'msg_9', 'msg_9'];
    const worker = startWorker(5, {
      apply: async (_topic, _records, context) => {
        const failsAt = failures.shift() ?? '';
        const readCurrent: Store['readCurrent'] = async (kind, ids) => {
          if (ids.includes(failsAt)) throw new Error('refused by MongoDB');
          return store.readCurrent(kind, ids);
        };
        const renamed = created('contact', 'con_1', { name: 'Countess' }, 2);
        await apply(renamed, { ...context, store: { ...store, readCurrent } }).finally(() =>
          counts.push(worker.progressCount),
        );
        return nothingApplied;
      },
      onApplied: () => undefined,
    });
    worker.push([batch(5, 5)], 6);
    while (worker.position !== 6) await new Promise((resolve) => setTimeout(resolve, 1));
    const [first = 0, second = 0, third, fourth] = counts;
    expect(second).toBeGreaterThan(first + 1);
    expect([third, fourth]).toEqual([second, second]);
  });

  it('grows while MongoDB is away, since a restart would not help, and not if it refuses the batch', async () => {
    const { worker, attempts } = given();
    const counts: number[] = [];
    for (const error of [new MongoNetworkError('reset'), new Error('refused by MongoDB')]) {
      while (attempts.length <= counts.length) await new Promise((resolve) => setTimeout(resolve, 1));
      attempts.at(-1)?.fail(error);
      await idle();
      counts.push(worker.progressCount);
    }
    expect(counts).toEqual([1, 1]);
    while (attempts.length < 3) await new Promise((resolve) => setTimeout(resolve, 1));
    attempts[2]?.end();
    await idle();
  });

  it('grows only when an attempt gets further than every attempt before it', async () => {
    const { worker, attempts } = given();
    // given an attempt that completes two chunks and fails
    await idle();
    attempts[0]?.onProgress();
    attempts[0]?.onProgress();
    expect(worker.progressCount).toBe(2);
    attempts[0]?.fail();
    // when the next attempt gets as far, then that is no progress
    while (attempts.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
    attempts[1]?.onProgress();
    attempts[1]?.onProgress();
    expect(worker.progressCount).toBe(2);
    // but a third chunk is
    attempts[1]?.onProgress();
    expect(worker.progressCount).toBe(3);
    attempts[1]?.end();
    await idle();
  });
});

it('a worker names why its records wait', async () => {
  const { worker, attempts } = given();
  await idle();
  const [attempt] = attempts;
  attempt?.onQueued?.(true);
  expect(worker.delay()).toBe('one_at_a_time');
  attempt?.onQueued?.(false);
  expect(worker.delay()).toBe('backlog');
  attempt?.onFanOut?.(700);
  expect([worker.delay(), worker.fanOutWaiting()]).toEqual(['fan_out', 700]);
  attempt?.fail();
  while (attempts.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  expect([worker.delay(), worker.fanOutWaiting()]).toEqual(['failing', 0]);
  attempts[1]?.end();
  await idle();
});

it('a worker that waits for its turn says so', async () => {
  let endWait = () => {};
  const worker = startWorker(5, {
    waitForTurn: (_, __, onWait) => {
      onWait();
      return new Promise((resolve) => (endWait = resolve));
    },
    apply: () => new Promise(() => undefined),
    onApplied: () => undefined,
  });
  worker.push([batch(8, 5, 7)], 9);
  expect(worker.delay()).toBe('prerequisites');
  endWait();
  await idle();
  expect(worker.delay()).toBe('backlog');
});

it('a worker that is stopped while it takes records applies none of them', async () => {
  const taken = Promise.withResolvers<Awaited<ReturnType<RecordQueue['take']>>>();
  const queue = createRecordQueue({ partition: 0, budget: createBudget(1), chunkBytesMax: () => 1_000 });
  let batches = 0;
  const worker = startWorker(5, {
    queue: { ...queue, isEmpty: () => false, take: () => taken.promise },
    apply: async () => {
      batches += 1;
      return nothingApplied;
    },
    onApplied: () => undefined,
  });
  worker.push([batch(5, 5)], 6);
  const chunk = await queue.take(5);
  expect(chunk.records).toHaveLength(1);
  const stopped = worker.stop(3_600_000);
  taken.resolve(chunk);
  await stopped;
  expect([batches, worker.position]).toEqual([0, 5]);
});

it('a worker that is stopped finishes its batch, and starts no other', async () => {
  const released = Promise.withResolvers<typeof nothingApplied>();
  let batches = 0;
  const apply = () => {
    batches += 1;
    return released.promise;
  };
  const worker = startWorker(5, { apply, onApplied: () => undefined });
  worker.push([batch(5, 5)], 6);
  while (batches === 0) await idle();
  worker.push([batch(6, 6)], 7);
  const stopped = worker.stop(3_600_000);
  released.resolve(nothingApplied);
  await stopped;
  expect([batches, worker.position]).toEqual([1, 6]);
});

it('a worker that stops tells at once that it stops, and only later that its partition is lost', async () => {
  const { worker, attempts } = given();
  await idle();
  attempts[0]?.stopping?.addEventListener('abort', () => attempts[0]?.fail());
  await worker.stop(3_600_000);
  expect([attempts[0]?.stopping?.aborted, attempts[0]?.signal.aborted]).toEqual([true, false]);
  expect(worker.position).toBe(5);
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
    onApplied: () => undefined,
    retryDelayMs: 10_000,
  });
  worker.push([batch(5, 5)], 6);
  await attempted.promise;
  await idle();
  await worker.stop(3_600_000);
  expect([attempts, worker.position]).toEqual([1, 5]);
});
