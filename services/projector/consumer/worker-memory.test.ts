import { gzipSync } from 'node:zlib';
import { rawBatch } from '../../../tests/support/example-responses.ts';
import { startWorker } from '../../../tests/support/start-worker.ts';
import { createBudget, createRecordQueue } from './record-queue.ts';

const nothingApplied = { events: 0, rejected: [], times: [] };
const idle = () => new Promise((resolve) => setImmediate(resolve));

/** Of this batch, which is taken in two parts, no two fit into the memory of two queues together. */
const large = rawBatch({
  baseOffset: 0,
  lastOffset: 1,
  compressed: { codec: 1, by: (records: Buffer) => gzipSync(records) },
  records: [0, 1].map((offset) => ({ offset, value: Buffer.alloc(200) })),
});
function twoQueues() {
  const budget = createBudget(100);
  return [0, 1].map((partition) => createRecordQueue({ partition, budget, chunkBytesMax: () => 100 }));
}

it('a worker that is stopped within a batch gives the memory of the batch back', async () => {
  const [queue, other] = twoQueues();
  if (!queue || !other) throw new Error('no queues');
  const begun = Promise.withResolvers<void>();
  const worker = startWorker(0, {
    queue,
    apply: (_topic, _records, { signal }) => {
      begun.resolve();
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('lost'))));
    },
    onApplied: () => undefined,
  });
  worker.push([large], 2);
  await begun.promise;
  await worker.stop(0);
  other.push([large], 2);
  expect((await other.take(0)).records).toHaveLength(1);
});

it('a worker that waits for its turn gives the memory of its batch back', async () => {
  const applied: number[] = [];
  const stopping = new AbortController();
  const workers = twoQueues().map((queue, partition) =>
    startWorker(0, {
      partition,
      queue,
      // The first partition waits before its second part.
      waitForTurn: async ({ position }, _signal, onWait) => {
        if (partition !== 0 || position === 0) return;
        onWait();
        await new Promise((resolve) => stopping.signal.addEventListener('abort', resolve));
      },
      apply: async () => nothingApplied,
      onApplied: () => void applied.push(partition),
    }),
  );
  workers[0]?.push([large], 2);
  while (applied.length < 1) await idle();
  // then the second partition is applied meanwhile
  workers[1]?.push([large], 2);
  while (applied.length < 3) await idle();
  expect(applied).toEqual([0, 1, 1]);
  stopping.abort();
  await Promise.all(workers.map((worker) => worker.stop(0)));
});
