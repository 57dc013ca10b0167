import type { KafkaRecord } from '../events/change.ts';
import type { PartitionWorker } from './partition-worker.ts';

/** How far a partition was applied at one moment. The commit loop saves a snapshot, then commits the same snapshot. */
export type Snapshot = {
  topic: string;
  partition: number;
  position: number;
  appliedToMs: number | null;
  /** The time of the oldest pending record, in milliseconds; null if no fetched record is pending. */
  oldestPendingMs: number | null;
  /** See `ObservedPartition` in liveness.ts. */
  progressCount: number;
};

/** The event time of a record, in milliseconds; null if the record is not a valid event. */
export type TimeOf = (topic: string, record: KafkaRecord) => number | null;

/** The snapshots of the workers that have been started. */
export const takeSnapshot = (workers: PartitionWorker[], timeOf: TimeOf): Snapshot[] =>
  workers.flatMap(({ topic, partition, position, appliedToMs, pendingRecords, progressCount }) => {
    if (position === null) return [];
    const oldestPendingMs = oldestTimestampMs(pendingRecords(), (record) => timeOf(topic, record));
    return [{ topic, partition, position, appliedToMs, oldestPendingMs, progressCount }];
  });

/**
 * The time of the oldest pending record, in milliseconds; null if none is pending. Each record counts by its Kafka
 * timestamp. The first also counts by its event time, since the clock of its producer may have dated the record too
 * late. Only the first is parsed, so that the cost does not grow with the number of records.
 */
export function oldestTimestampMs(
  records: KafkaRecord[],
  timeOf: (record: KafkaRecord) => number | null,
): number | null {
  const [first] = records;
  if (!first) return null;
  return records.reduce(
    (oldest, { position }) => Math.min(oldest, position.timestampMs),
    timeOf(first) ?? Infinity,
  );
}
