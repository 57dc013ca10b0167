import type { LogState } from '../../../shared/kafka/log-client.ts';
import { partitionKey } from '../../../shared/control/topic-partition.ts';
import type { PartitionWorker } from './partition-worker.ts';

/** The fields of a worker that tell whether its log has a gap. */
type Fetching = Pick<PartitionWorker, 'topic' | 'partition' | 'position' | 'nextFetchOffset' | 'topicId'>;

/** Records were never applied and cannot be fetched any more. An operator has to decide how to go on. */
export class LogGap extends Error {
  override name = 'LogGap';
}

/**
 * How often in a row, a second apart, a gap must be found before it counts. A broker that has just become the leader
 * of a partition may briefly report an end offset below the records already read.
 */
export const gapConfirmationsMin = 5;

/** Retention or an operator deleted the records from `from` up to `low`, the first offset that is still in the log. */
export const deletedRecords = (key: string, from: number, low: number) =>
  new LogGap(
    `${key}: the records from offset ${from} to ${low - 1} are gone from the log (retention or deletion) and ` +
      'were not applied. Documents may be out of date: restore the records, or rebuild the read model ' +
      '(docs/rebuilding.md, After a gap)',
  );

/** The log ends before the records that were applied, because the topic was deleted and created again. */
export const shorterLog = (key: string, applied: number, end: number) =>
  new LogGap(
    `${key}: this read model has applied the log up to ${applied}, but it ends at ${end}: the topic was deleted ` +
      'and created again. Rebuild the read model (docs/rebuilding.md, After a gap)',
  );

/** The topic's id differs from that of the topic whose records were applied. */
export const otherTopic = (key: string, applied: number, topic: string) =>
  new LogGap(
    `${key}: this read model has applied the log up to ${applied}, but of another topic of this name: it was ` +
      'deleted and created again. Rebuild the read model (docs/rebuilding.md, After a gap); or, if this log is a copy with the same records at the same offsets, delete the ' +
      `documents of ${topic} in the collection topic_ids of DATABASE_NAME`,
  );

/**
 * Detects records that are deleted before they were fetched, and topics that are created again. kafkajs would
 * silently restart at the beginning of the log, or go on in the new topic. Call the returned function once a second:
 * it returns the gap that `gapConfirmationsMin` calls in a row have found, or null.
 */
export function createGapDetector() {
  let suspects = new Map<Fetching, { nextFetchOffset: number; sightings: number }>();
  return (workers: Fetching[], { ends, topicIds }: Pick<LogState, 'ends' | 'topicIds'>): LogGap | null => {
    const found: typeof suspects = new Map();
    for (const worker of workers) {
      const { nextFetchOffset, topic, topicId } = worker;
      const key = partitionKey(worker);
      // Kafka never assigns the id of a deleted topic again, so one observation is enough.
      if (topicId !== null && (topicIds.get(topic) ?? topicId) !== topicId)
        return otherTopic(key, worker.position ?? 0, topic);
      const log = ends.get(key);
      if (nextFetchOffset === null || !log) continue;
      if (log.low <= nextFetchOffset && nextFetchOffset <= log.end) continue;
      const before = suspects.get(worker);
      const sightings = before?.nextFetchOffset === nextFetchOffset ? before.sightings + 1 : 1;
      if (sightings >= gapConfirmationsMin)
        return log.low > nextFetchOffset
          ? deletedRecords(key, nextFetchOffset, log.low)
          : shorterLog(key, nextFetchOffset, log.end);
      found.set(worker, { nextFetchOffset, sightings });
    }
    suspects = found;
    return null;
  };
}
