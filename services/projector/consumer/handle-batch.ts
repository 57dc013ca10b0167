import type { Consumer, EachBatchPayload } from 'kafkajs';
import { partitionKey } from '../../../shared/control/topic-partition.ts';
import { type PartitionFetch, readPartitionFetch } from '../../../shared/kafka/kafkajs-patch.ts';
import { leaderEpochOf, recordsIn } from '../../../shared/kafka/record-batch.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { FetchResult } from '../partition/fetch-state.ts';
import type { Assignment } from './assignment.ts';
import { seek } from './start-offsets.ts';

export type HandleBatchDeps = {
  logger: Logger;
  /** Called with the number of records that were fetched and queued. */
  onFetched: (topic: string, records: number) => void;
};

/**
 * Handles a batch that kafkajs has fetched. Queues the batch if it starts at the offset that its partition needs next.
 * Otherwise seeks to that offset. Pauses the partition for a second if its broker cannot read it, or if a new leader's
 * log must be compared first.
 */
export function handleBatch(
  { logger, onFetched }: HandleBatchDeps,
  consumer: Pick<Consumer, 'seek'>,
  assignment: Assignment,
  payload: EachBatchPayload,
): void {
  const { topic, partition } = payload.batch;
  const key = partitionKey({ topic, partition });
  const assigned = assignment.partition(key);
  if (!assigned || payload.isStale() || !payload.isRunning()) return;
  const { nextOffset: expected } = assigned.fetchState;
  if (expected === null) return;
  const fetched = readPartitionFetch(payload.batch);
  if (fetched.error !== null) {
    assigned.fetchState.onFetchFailed(fetched.error);
    assignment.backOff(assigned);
    return;
  }
  if (fetched.throttledMs > 0) {
    assigned.fetchState.onFetchThrottled(fetched.throttledMs);
    return;
  }
  assigned.fetchState.onFetchSucceeded();
  if (fetched.offset !== expected) {
    // With several brokers, kafkajs may deliver a batch that was fetched for an earlier assignment.
    logger.warn(
      { topic, partition, fetchedOffset: fetched.offset, expected },
      'batch starts at an unexpected offset; fetching again',
    );
    seek(consumer, assigned, expected);
    return;
  }
  // The log of the new leader may lack applied records. The gap detector compares it within a second or two.
  if (fetched.leaderEpoch > assigned.fetchState.comparedEpoch) {
    assigned.fetchState.setUncomparedEpoch(fetched.leaderEpoch);
    assignment.backOff(assigned);
    return;
  }
  const received = beforeLoadEnd(fetched, assignment.positions.loadEnd(key));
  assignment.positions.observe(key, { end: received.endOffset });
  payload.resolveOffset(String(received.nextOffset - 1));
  const recordCount = received.batches.reduce((sum, batch) => sum + recordsIn(batch), 0);
  onFetched(topic, recordCount);
  assigned.receive(received);
  assignment.updateFetching(assigned);
}

/** Drops the batches from the load end of a build on. The build fetches them once all its partitions are loaded. */
function beforeLoadEnd(fetched: PartitionFetch, loadEnd: number): FetchResult {
  const index = fetched.batches.findIndex(({ baseOffset }) => baseOffset >= loadEnd);
  const firstLater = fetched.batches[index];
  if (!firstLater) return fetched;
  return {
    batches: fetched.batches.slice(0, index),
    nextOffset: Math.max(fetched.offset, firstLater.baseOffset),
    // A log that has the later batch has every record before it, so the gap detector can use the epoch of that batch.
    leaderEpoch: leaderEpochOf(firstLater.bytes),
    endOffset: fetched.endOffset,
  };
}
