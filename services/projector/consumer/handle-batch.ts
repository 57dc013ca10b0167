import type { Consumer, EachBatchPayload } from 'kafkajs';
import type { KafkaRecord } from '../events/change.ts';
import type { Assignment } from './assignment.ts';
import { seek } from './resume-partitions.ts';
import type { ConsumerDeps } from './consumer.ts';
import { keyOf } from './partition-worker.ts';
import { fetchedOffsetOf } from '../kafka/kafkajs-patch.ts';

/** Queues a batch that was fetched, if it is what comes next; has that fetched if it is not. */
export function handleBatch(
  { logger }: Pick<ConsumerDeps, 'logger'>,
  consumer: Pick<Consumer, 'seek'>,
  assignment: Assignment,
  payload: EachBatchPayload,
): void {
  const { batch } = payload;
  const key = keyOf(batch);
  const partition = assignment.get(key);
  if (!partition || payload.isStale() || !payload.isRunning()) return;
  const { expected } = partition;
  if (expected === null) return;
  const fetchedOffset = fetchedOffsetOf(batch);
  if (fetchedOffset !== expected) {
    // Asked for an offset that the log no longer has, kafkajs starts over at the log's beginning, and commits
    // that; with several brokers it may also hand over what was fetched for an assignment that has ended.
    logger.warn(
      { topic: batch.topic, partition: batch.partition, fetchedOffset, expected },
      'fetching again',
    );
    assignment.committed.delete(key);
    return seek(consumer, partition, expected);
  }
  const records = batch.messages.map((message) => toKafkaRecord(batch.partition, message));
  const bytes = records.reduce((sum, record) => sum + bytesHeld(record), 0);
  partition.expected = Number(batch.lastOffset()) + 1;
  partition.end = Math.max(partition.end, Number(batch.highWatermark));
  assignment.positions.report(key, { end: partition.end });
  payload.resolveOffset(batch.lastOffset());
  assignment.queue(partition, { records, nextOffset: partition.expected, bytes }, () => payload.pause());
}

type Message = EachBatchPayload['batch']['messages'][number];

const toKafkaRecord = (partition: number, message: Message): KafkaRecord => ({
  key: message.key,
  value: message.value,
  headers: message.headers ?? {},
  position: { partition, offset: Number(message.offset), timestampMs: Number(message.timestamp) },
});

/** About what a record takes in memory: each of its parts is an object of its own, which small values hide. */
const bytesHeld = ({ value, headers }: KafkaRecord): number =>
  (value?.length ?? 0) + 400 + 200 * Object.keys(headers).length;
