import { gzipSync } from 'node:zlib';
import { pino } from 'pino';
import { rawBatch } from '../../../tests/support/example-responses.ts';
import { createPartitionWorker, type ApplyContext, type PartitionWorker } from './partition-worker.ts';
import { createBudget, createRecordQueue } from './record-queue.ts';

const batch = (lastOffset: number, ...offsets: number[]) =>
  rawBatch({ baseOffset: offsets[0] ?? 0, lastOffset, records: offsets.map((offset) => ({ offset })) });
const queue = () => createRecordQueue({ partition: 0, budget: createBudget(1), chunkBytesMax: () => 1_000 });
const nothingApplied = { events: 0, rejected: 0, times: [] };
const idle = () => new Promise((resolve) => setImmediate(resolve));

/** A worker at offset 5. The test decides when each attempt to apply a batch fails or ends. */
function given() {
  const attempts: {
    offsets: number[];
    end: () => void;
    fail: () => void;
    signal: AbortSignal;
    progress: () => void;
  }[] = [];
  const applied: (number | null)[] = [];
  const worker: PartitionWorker = createPartitionWorker({
    topic: 't',
    partition: 0,
    waitForTurn: async () => undefined,
    queue: queue(),
    apply: (records, { signal, onProgress }) =>
      new Promise((resolve, reject) => {
        const offsets = records.map(({ position }) => position.offset);
        const fail = () => reject(new Error('refused by the store'));
        attempts.push({ offsets, end: () => resolve(nothingApplied), fail, signal, progress: onProgress });
      }),
    onApplied: (self) => applied.push(self.position),
    logger: pino({ level: 'silent' }),
    retryDelayMs: 0,
  });
  worker.start(5);
  worker.push([batch(8, 5, 7)], 9);
  return { worker, attempts, applied };
}

it('a worker that waits for its turn gives the memory of its batch back', async () => {
  // given two partitions whose batches do not fit into memory together, and are taken in parts
  const budget = createBudget(100);
  const compressed = { codec: 1, by: (records: Buffer) => gzipSync(records) };
  const large = rawBatch({
    ...{ baseOffset: 0, lastOffset: 1, compressed },
    records: [0, 1].map((offset) => ({ offset, value: Buffer.alloc(200) })),
  });
  const applied: number[] = [];
  const stopping = new AbortController();
  const workers = [0, 1].map((partition) => {
    const worker = createPartitionWorker({
      ...{ topic: 't', partition, logger: pino({ level: 'silent' }), retryDelayMs: 0 },
      queue: createRecordQueue({ partition, budget, chunkBytesMax: () => 100 }),
      // The first partition waits before its second part.
      waitForTurn: async ({ position }, _signal, onWait) => {
        if (partition !== 0 || position === 0) return;
        onWait();
        await new Promise((resolve) => stopping.signal.addEventListener('abort', resolve));
      },
      apply: async () => nothingApplied,
      onApplied: () => void applied.push(partition),
    });
    worker.start(0);
    return worker;
  });
  workers[0]?.push([large], 2);
  while (applied.length < 1) await idle();
  // then the second partition is applied meanwhile
  workers[1]?.push([large], 2);
  while (applied.length < 3) await idle();
  expect(applied).toEqual([0, 1, 1]);
  stopping.abort();
  await Promise.all(workers.map((worker) => worker.stop(0)));
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
  it('grows only when an attempt gets further than every attempt before it', async () => {
    const { worker, attempts } = given();
    // given an attempt that completes two chunks and fails
    await idle();
    attempts[0]?.progress();
    attempts[0]?.progress();
    expect(worker.progressCount).toBe(2);
    attempts[0]?.fail();
    // when the next attempt gets as far, then that is no progress
    while (attempts.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
    attempts[1]?.progress();
    attempts[1]?.progress();
    expect(worker.progressCount).toBe(2);
    // but a third chunk is
    attempts[1]?.progress();
    expect(worker.progressCount).toBe(3);
    attempts[1]?.end();
    await idle();
  });
});

describe('a worker that stops', () => {
  it('tells at once that it stops, and only later that its partition is lost', async () => {
    let context: ApplyContext | undefined;
    const worker = createPartitionWorker({
      ...{ topic: 't', partition: 0, queue: queue(), waitForTurn: async () => undefined, retryDelayMs: 0 },
      apply: (_, given) =>
        new Promise((_resolve, reject) => {
          context = given;
          given.stopping?.addEventListener('abort', () => reject(new Error('paused')));
        }),
      onApplied: () => undefined,
      logger: pino({ level: 'silent' }),
    });
    worker.start(5);
    worker.push([batch(5, 5)], 6);
    await idle();
    await worker.stop(3_600_000);
    expect([context?.stopping?.aborted, context?.signal.aborted]).toEqual([true, false]);
    expect(worker.position).toBe(5);
  });
});
