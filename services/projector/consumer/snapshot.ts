import type { PartitionWorker } from './partition-worker.ts';

/** How far a partition was applied at one moment. The commit loop saves a snapshot, then commits the same snapshot. */
export type Snapshot = {
  topic: string;
  partition: number;
  position: number;
  /** See `ObservedPartition` in liveness.ts. */
  progressCount: number;
};

/** The snapshots of the workers that have been started. */
export const takeSnapshot = (workers: PartitionWorker[]): Snapshot[] =>
  workers.flatMap(({ topic, partition, position, progressCount }) =>
    position === null ? [] : [{ topic, partition, position, progressCount }],
  );
