import type { Consumer, EachBatchPayload } from 'kafkajs';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { KafkaRecord } from '../events/change.ts';
import { fetchedOffsetOf } from '../kafka/kafkajs-patch.ts';
import { partitionKey } from '../kafka/topic-partition.ts';
import type { Assignment } from './assignment.ts';
import { seek } from './resume-partitions.ts';

/** Queues a fetched batch if it starts at the offset that its partition needs next. Otherwise seeks to that offset. */
export function handleBatch(
  { logger }: { logger: Logger },
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
  const fetchedOffset = fetchedOffsetOf(batch);
  if (fetchedOffset !== nextFetchOffset) {
    // kafkajs restarts at the beginning of the log, and commits that, when it asks for an offset that the log no
    // longer has. With several brokers it may also deliver a batch that was fetched for an earlier assignment.
    logger.warn(
      { topic: batch.topic, partition: batch.partition, fetchedOffset, expected: nextFetchOffset },
      'batch starts at an unexpected offset; fetching again',
    );
    assignment.committedOffsets.delete(key);
    return seek(consumer, worker, nextFetchOffset);
  }
  const waitsLong = nextFetchOffset >= assignment.positions.loadEnd(key);
  const records = batch.messages.map((message) => {
    const record = toKafkaRecord(batch.partition, message);
    return waitsLong ? copyOf(record) : record;
  });
  const bytes = records.reduce((sum, record) => sum + bytesInMemory(record), 0);
  const nextOffset = Number(batch.lastOffset()) + 1;
  worker.nextFetchOffset = nextOffset;
  worker.end = Math.max(worker.end, Number(batch.highWatermark));
  assignment.positions.report(key, { end: worker.end });
  payload.resolveOffset(batch.lastOffset());
  assignment.enqueue(worker, { records, nextOffset, bytes }, () => payload.pause());
}

type Message = EachBatchPayload['batch']['messages'][number];

const toKafkaRecord = (partition: number, message: Message): KafkaRecord => ({
  key: message.key,
  value: message.value,
  headers: message.headers ?? {},
  position: { partition, offset: Number(message.offset), timestampMs: Number(message.timestamp) },
});

/** A record is a part of its whole fetch response, of some megabytes: one that waits for long must not keep that. */
const copyOf = ({ key, value, headers, position }: KafkaRecord): KafkaRecord => ({
  key: key && Buffer.from(key),
  value: value && Buffer.from(value),
  headers: Object.fromEntries(Object.entries(headers).map(([name, header]) => [name, copyOfHeader(header)])),
  position,
});

const copyOfHeader = (header: KafkaRecord['headers'][string]) => {
  const copyOfOne = (one: Buffer | string) => (typeof one === 'string' ? one : Buffer.from(one));
  return Array.isArray(header) ? header.map(copyOfOne) : header && copyOfOne(header);
};

/** The approximate size of a record in memory. Each header and buffer costs an object, even if its value is small. */
const bytesInMemory = ({ value, headers }: KafkaRecord): number =>
  (value?.length ?? 0) + 400 + 200 * Object.keys(headers).length;
