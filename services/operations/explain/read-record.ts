import { partitionKey, type TopicPartition } from '../../../shared/control/topic-partition.ts';
import { openBatch } from '../../projector/consumer/open-batch.ts';
import type { LogClient } from '../../projector/kafka/log-client.ts';
import type { KafkaRecord } from '../../projector/kafka/record-format.ts';

export type RecordPlace = TopicPartition & { offset: number };

/** Reads one record of a log, without a consumer group. Throws an error that says why there is none. */
export async function readLogRecord(log: LogClient, place: RecordPlace): Promise<KafkaRecord> {
  const { topic, partition, offset } = place;
  const ends = (await log.read([topic])).ends.get(partitionKey(place));
  if (!ends) throw new Error(`Kafka has no partition ${topic}/${partition}, or its leader does not answer`);
  if (offset < ends.low || offset >= ends.end)
    throw new Error(
      `there is no record at offset ${offset} of ${topic}/${partition}: its log holds offsets ${ends.low} to ${ends.end - 1}`,
    );
  if (offset >= ends.stable)
    throw new Error(
      `the record at offset ${offset} of ${topic}/${partition} cannot be read yet: a transaction is open from offset ${ends.stable} on`,
    );
  const holding = (await log.fetch(place)).find(({ lastOffset }) => lastOffset >= offset);
  if (holding && holding.baseOffset <= offset) {
    const { records, error } = (await openBatch(partition, holding.bytes)).read(
      { at: 0, count: 0 },
      Infinity,
      Infinity,
    );
    const found = records.find(({ position }) => position.offset === offset);
    if (found) return found;
    if (error)
      throw new Error(`the batch of offset ${offset} of ${topic}/${partition} cannot be decoded`, {
        cause: error,
      });
  }
  throw new Error(
    `there is no record at offset ${offset} of ${topic}/${partition}: compaction has removed it, or it marks the end of a ` +
      'transaction, or its transaction was aborted',
  );
}
