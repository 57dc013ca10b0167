import { pino } from 'pino';
import {
  createPartitionWorker,
  type PartitionWorkerDeps,
} from '../../services/projector/consumer/partition-worker.ts';
import { createBudget, createRecordQueue } from '../../services/projector/consumer/record-queue.ts';

/** Starts a worker at an offset; by default it waits for nothing, and its memory has room for any batch. */
export const startWorker = (
  offset: number,
  deps: Pick<PartitionWorkerDeps, 'apply' | 'onApplied'> & Partial<PartitionWorkerDeps>,
) => {
  const worker = createPartitionWorker({
    topic: 't',
    partition: 0,
    waitForTurn: async () => undefined,
    readSetAside: async () => new Map(),
    queue: createRecordQueue({
      partition: 0,
      budget: createBudget(1, () => undefined),
      chunkBytesMax: () => 1_000,
    }),
    logger: pino({ level: 'silent' }),
    limitRefusals: (write) => write({}),
    retryDelayMs: 0,
    ...deps,
  });
  worker.start(offset);
  return worker;
};
