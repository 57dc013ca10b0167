import { pino } from 'pino';
import type { CreatePartition } from '../../services/projector/partition/assigned-partitions.ts';
import { createBudget } from '../../services/projector/partition/budget.ts';
import { Partition, type PartitionDeps } from '../../services/projector/partition/partition.ts';
import { createRecordQueue } from '../../services/projector/partition/record-queue.ts';
import type { RawBatch } from '../../shared/kafka/record-batch.ts';

/** A start at an offset, which is the end of the log, too. */
export const startAt = (offset: number) => ({
  offset,
  leaderEpoch: -1,
  comparedEpoch: 0,
  endOffset: offset,
  topicId: null,
});

/** A partition before its first fetch; by default it waits for nothing, and its memory holds any batch. */
export const createPartition = (deps: Pick<PartitionDeps, 'apply'> & Partial<PartitionDeps>) =>
  new Partition({
    topic: 't',
    partition: 0,
    waitForPrerequisites: async () => undefined,
    readSkips: async () => new Map(),
    queue: createRecordQueue({
      partition: 0,
      loadWithinBudget: createBudget(1, () => undefined),
      chunkBytesMax: () => 1_000,
    }),
    onApplied: () => undefined,
    onFatal: (error) => {
      throw error;
    },
    logger: pino({ level: 'silent' }),
    limitRefusals: (write) => write({}),
    retryDelayMs: 0,
    ...deps,
  });

/** Lets an assignment create such partitions, which share its memory for queued records. */
export const createPartitionFactory =
  (deps: Pick<PartitionDeps, 'apply'> & Partial<PartitionDeps>): CreatePartition =>
  ({ topic, partition }, { loadWithinBudget, chunkBytesMax, onApplied }) =>
    createPartition({
      topic,
      partition,
      queue: createRecordQueue({ partition, loadWithinBudget, chunkBytesMax }),
      onApplied,
      retryDelayMs: 500,
      ...deps,
    });

/** Creates and starts a partition at an offset. */
export const startPartition = (offset: number, deps: Parameters<typeof createPartition>[0]) => {
  const partition = createPartition(deps);
  partition.start(startAt(offset), offset);
  return partition;
};

/** Batches that were fetched up to an offset, where the log ends. */
export const received = (batches: RawBatch[], nextOffset: number) => ({
  batches,
  nextOffset,
  leaderEpoch: -1,
  endOffset: nextOffset,
});
