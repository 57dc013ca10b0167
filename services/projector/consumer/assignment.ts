import type { Logger } from '../../../shared/runtime/logger.ts';
import type { KafkaRecord } from '../events/change.ts';
import { partitionKey } from '../kafka/topic-partition.ts';
import type { Applied, ApplyContext } from './applied.ts';
import type { RecordBatch } from './batches.ts';
import { createPartitionWorker, type PartitionWorker } from './partition-worker.ts';
import type { Positions } from './positions.ts';
import { createWaitForTurn } from './wait-for-turn.ts';

/** The largest share of `queuedBytesMax` that one partition may take, however few partitions are assigned. */
const partitionShareMax = 1 / 8;

/** The partitions that the group has assigned to this process, each with its worker and its share of the memory. */
export type Assignment = {
  workers: () => PartitionWorker[];
  worker: (key: string) => PartitionWorker | undefined;
  /** The offsets last committed, by `<topic>/<partition>`. */
  committedOffsets: Map<string, number>;
  positions: Positions;
  /** Replaces the assigned partitions. The workers of the previous assignment are stopped. */
  replace: (memberAssignment: Record<string, number[]>) => PartitionWorker[];
  /** Queues a batch. `pause` stops fetching the partition and returns a function that resumes it. */
  enqueue: (worker: PartitionWorker, fetched: RecordBatch, pause: () => () => void) => void;
};

export type AssignmentDeps = {
  /**
   * The bytes that all partitions together may queue and apply. Each partition has an equal share and pauses above
   * it, so that no partition waits for another. One fetch may exceed the share.
   */
  queuedBytesMax: number;
  apply: (topic: string, records: KafkaRecord[], context: ApplyContext) => Promise<Applied>;
  positions: Positions;
  /** The topics whose entities the documents of a topic refer to. */
  prerequisitesOf: (topic: string) => string[];
  onApplied: (worker: PartitionWorker, applied: Applied) => void;
  logger: Logger;
};

export function createAssignment(deps: AssignmentDeps): Assignment {
  const assigned = new Map<string, PartitionWorker>();
  const resumePaused = new Map<string, () => void>();
  const committedOffsets = new Map<string, number>();
  const bytesPerPartition = () => deps.queuedBytesMax * Math.min(partitionShareMax, 1 / assigned.size);
  const resumeIfDrained = (worker: PartitionWorker) => {
    const key = partitionKey(worker);
    const resume = resumePaused.get(key);
    if (!resume || assigned.get(key) !== worker || worker.queuedBytes() > bytesPerPartition()) return;
    resumePaused.delete(key);
    resume();
  };
  const add = (topic: string, partition: number, previousStopped: Promise<void> | undefined) => {
    const created = createPartitionWorker({
      topic,
      partition,
      logger: deps.logger,
      retryDelayMs: 500,
      waitForTurn: createWaitForTurn(deps.positions, deps.prerequisitesOf),
      apply: async (records, work) => {
        await previousStopped;
        return deps.apply(topic, records, work);
      },
      onApplied: (worker, applied) => {
        deps.positions.report(partitionKey(worker), { position: worker.position ?? 0 });
        deps.onApplied(worker, applied);
        resumeIfDrained(worker);
      },
    });
    assigned.set(partitionKey(created), created);
  };

  return {
    workers: () => [...assigned.values()],
    worker: (key) => assigned.get(key),
    committedOffsets,
    positions: deps.positions,
    replace: (memberAssignment) => {
      // The previous worker of a partition stops before the new one applies its records again.
      const stopped = new Map([...assigned].map(([key, worker]) => [key, worker.stop(0)]));
      assigned.clear();
      committedOffsets.clear();
      resumePaused.clear();
      for (const [topic, partitions] of Object.entries(memberAssignment)) {
        for (const partition of partitions)
          add(topic, partition, stopped.get(partitionKey({ topic, partition })));
      }
      return [...assigned.values()];
    },
    enqueue: (worker, fetched, pause) => {
      worker.push(fetched);
      const key = partitionKey(worker);
      const isFull = worker.queuedBytes() > bytesPerPartition();
      // Records after the load wait for minutes or hours: one batch of them is enough.
      if (isFull || fetched.nextOffset > deps.positions.loadEnd(key)) resumePaused.set(key, pause());
    },
  };
}
