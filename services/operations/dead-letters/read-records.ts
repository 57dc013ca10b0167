import { partitionKey, type TopicPartition } from '../../../shared/control/topic-partition.ts';
import type { LogClient } from '../../../shared/kafka/log-client.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { openBatch } from '../../projector/partition/open-batch.ts';

/** If neither field has a wanted offset, its record has left the log, or the reader cannot decode its batch. */
type ReadOffsets = {
  /** By their offsets. */
  records: Map<number, KafkaRecord>;
  /** The wanted offsets that the next read must fetch, because this answer has reached its limit of bytes. */
  remaining: number[];
};

/** Reads the records at some offsets of a partition, in the order of the log. Rejects if its leader does not answer. */
export type ReadRecords = (from: TopicPartition, offsets: number[]) => Promise<ReadOffsets>;

/** An answer ends after 4 MB of records, so that memory does not depend on their number and size. */
const bytesPerRead = 4 * 1024 * 1024;

/** Reads records from Kafka by their offsets, as long as they are in the log. It commits nothing. */
export const recordReader =
  (log: Pick<LogClient, 'read' | 'fetch'>): ReadRecords =>
  async (from, offsets) => {
    const records: ReadOffsets['records'] = new Map();
    const ends = (await log.read([from.topic])).ends.get(partitionKey(from));
    if (!ends) throw new Error(`${partitionKey(from)} cannot be read: no leader answers`);
    const inLog = offsets.filter((offset) => offset >= ends.low && offset < ends.stable);
    const wanted = new Set(inLog);
    let readTo = 0;
    let bytes = 0;
    for (const offset of inLog) {
      // The previous fetch has returned this offset, too.
      if (offset < readTo) continue;
      if (bytes >= bytesPerRead) return { records, remaining: inLog.filter((later) => later >= readTo) };
      const fetched = await log.fetch(from, offset);
      for await (const record of recordsOf(from.partition, fetched?.batches ?? [])) {
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
async function* recordsOf(partition: number, batches: { bytes: Buffer }[]): AsyncGenerator<KafkaRecord> {
  for (const { bytes } of batches) yield* await recordsOfBatch(partition, bytes);
}

/** The records of a batch; empty if the reader cannot decode the batch. */
async function recordsOfBatch(partition: number, bytes: Buffer): Promise<KafkaRecord[]> {
  try {
    const opened = await openBatch(partition, bytes);
    return opened.read({ index: 0, count: 0 }, Infinity, Infinity).records;
  } catch {
    return [];
  }
}
