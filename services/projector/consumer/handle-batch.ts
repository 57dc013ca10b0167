import type { Consumer, EachBatchPayload } from 'kafkajs';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { leaderEpochOf, recordsIn } from '../../../shared/kafka/record-batch.ts';
import type { BatchMessage, ErrorMessage } from '../../../shared/kafka/fetch-decoder.ts';
import { fetchedOffsetOf, leaderEpochOfLast } from '../../../shared/kafka/kafkajs-patch.ts';
import { partitionKey } from '../../../shared/control/topic-partition.ts';
import type { Assignment } from './assignment.ts';
import { seek } from './start-offsets.ts';

export type HandleBatchDeps = {
  logger: Logger;
  /** Called with the number of records that were fetched and queued. */
  onFetched: (topic: string, records: number) => void;
};

/** Queues a fetched batch if it starts at the offset that its partition needs next. Otherwise seeks to that offset. */
export function handleBatch(
  { logger, onFetched }: HandleBatchDeps,
  consumer: Pick<Consumer, 'seek'>,
  assignment: Assignment,
  payload: EachBatchPayload,
): void {
  const { batch } = payload;
  const key = partitionKey(batch);
  const worker = assignment.worker(key);
  if (!worker || payload.isStale() || !payload.isRunning()) return;
  const { nextFetchOffset } = worker;
  if (nextFetchOffset === null) return;
  // The patch of kafkajs delivers each record batch as one message, not yet decoded.
  const messages = batch.messages as unknown as (BatchMessage | ErrorMessage)[];
  const error = messages.find((message) => 'error' in message)?.error ?? null;
  const { topic, partition } = batch;
  if (error !== null && error !== worker.fetchError)
    logger.error({ topic, partition, error }, 'a broker cannot read a partition');
  worker.fetchError = error;
  if (error !== null) return assignment.rest(worker);
  const fetchedOffset = fetchedOffsetOf(batch);
  if (fetchedOffset !== nextFetchOffset) {
    // kafkajs restarts at the beginning of the log, and commits that, when it asks for an offset that the log no
    // longer has. With several brokers it may also deliver a batch that was fetched for an earlier assignment.
    logger.warn(
      { topic, partition, fetchedOffset, expected: nextFetchOffset },
      'batch starts at an unexpected offset; fetching again',
    );
    // Forgotten, so that the next commit is sent even if the position has not moved.
    worker.committed = -1;
    return seek(consumer, worker, nextFetchOffset);
  }
  const leaderEpoch = leaderEpochOfLast(batch);
  // Another leader has been elected. The gap detector compares its log within a second or two.
  if (leaderEpoch > worker.comparedEpoch) return assignment.rest(worker);
  const fetched = messages.flatMap((message) => ('batch' in message ? [message.batch] : []));
  // A build fetches the records after its load once the load is over.
  const loadEnd = assignment.positions.loadEnd(key);
  const later = fetched.find(({ baseOffset }) => baseOffset >= loadEnd);
  const nextOffset = later ? Math.max(nextFetchOffset, later.baseOffset) : Number(batch.lastOffset()) + 1;
  worker.nextFetchOffset = nextOffset;
  // The batch after the offset tells as much about the log before it as the batch before the offset does.
  worker.fetchedEpoch = Math.max(worker.fetchedEpoch, later ? leaderEpochOf(later.bytes) : leaderEpoch);
  worker.end = Math.max(worker.end, Number(batch.highWatermark));
  assignment.positions.observe(key, { end: worker.end });
  payload.resolveOffset(String(nextOffset - 1));
  const queued = later ? fetched.slice(0, fetched.indexOf(later)) : fetched;
  const records = queued.reduce((sum, one) => sum + recordsIn(one), 0);
  onFetched(topic, records);
  worker.push(queued, nextOffset, worker.fetchedEpoch);
  assignment.updateFetching(worker);
}
