import { partitionKey, type TopicPartition } from '../../../shared/control/topic-partition.ts';
import type { LogClient } from '../../../shared/kafka/log-client.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { openBatch } from '../../projector/partition/open-batch.ts';

/** If a wanted offset is in neither field, its record has left the log, or the reader cannot decode its batch. */
type ReadRecordsResult = {
  /** The keys are the offsets of the records. */
  records: Map<number, KafkaRecord>;
  /** The wanted offsets for the next read, because this one has reached its limit of bytes. */
  remaining: number[];
};

/**
 * Reads the records at some offsets of a partition, in log order. Rejects if the partition's leader does not answer.
 */
export type ReadRecords = (from: TopicPartition, offsets: number[]) => Promise<ReadRecordsResult>;

/** A read stops after 4 MB of records, which bounds the memory however many records are wanted. */
const bytesPerRead = 4 * 1024 * 1024;

/** Creates the function that reads records from Kafka by their offsets. It commits no offsets. */
export const createRecordReader =
  (log: Pick<LogClient, 'read' | 'fetch'>): ReadRecords =>
  async (from, offsets) => {
    const records: ReadRecordsResult['records'] = new Map();
    const ends = (await log.read([from.topic])).ends.get(partitionKey(from));
    if (!ends) throw new Error(`${partitionKey(from)} cannot be read: no leader answers`);
    const inLog = offsets.filter((offset) => offset >= ends.low && offset < ends.stable);
    const wanted = new Set(inLog);
    let readTo = 0;
    let bytes = 0;
    for (const offset of inLog) {
      const wasFetched = offset < readTo;
      if (wasFetched) continue;
      if (bytes >= bytesPerRead)
        return { records, remaining: inLog.filter((wantedOffset) => wantedOffset >= readTo) };
      const fetched = await log.fetch(from, offset);
      for await (const record of decodeBatches(from.partition, fetched?.batches ?? [])) {
        if (!wanted.has(record.position.offset)) continue;
        records.set(record.position.offset, record);
        bytes += bytesOf(record);
      }
      readTo = fetched?.nextOffset ?? offset + 1;
    }
    return { records, remaining: [] };
  };

const bytesOf = ({ value, headers }: KafkaRecord): number => (value?.length ?? 0) + headers.length;

/** The records of some batches, decoded one batch at a time. */
async function* decodeBatches(partition: number, batches: { bytes: Buffer }[]): AsyncGenerator<KafkaRecord> {
  for (const { bytes } of batches) yield* await decodeBatch(partition, bytes);
}

/** The records of a batch; empty if the reader cannot decode the batch. */
async function decodeBatch(partition: number, bytes: Buffer): Promise<KafkaRecord[]> {
  try {
    const opened = await openBatch(partition, bytes);
    return opened.read({ index: 0, count: 0 }, Infinity, Infinity).records;
  } catch {
    return [];
  }
}
