import { partitionKey, type TopicPartition } from '../../../shared/control/topic-partition.ts';
import type { LogClient } from '../../../shared/kafka/log-client.ts';
import type { KafkaRecord } from '../../../shared/kafka/record-format.ts';
import { openBatch } from '../../projector/partition/open-batch.ts';

/**
 * Records by their offsets, and the wanted offsets that the next read must fetch, because this answer has enough bytes.
 * If both lack a wanted offset, its record has left the log, or the reader cannot decode its batch.
 */
type ReadOffsets = { records: Map<number, KafkaRecord>; remaining: number[] };

/** Reads the records at some offsets of a partition, in the order of the log. Rejects if its leader does not answer. */
export type ReadRecords = (from: TopicPartition, offsets: number[]) => Promise<ReadOffsets>;

/** An answer ends after 4 MB of records, so that their number and size do not bound the memory. */
const bytesPerRead = 4 * 1024 * 1024;

/** Reads records from Kafka by their offsets, as long as they are in the log. It commits nothing. */
export const recordReader =
  (log: Pick<LogClient, 'read' | 'fetch'>): ReadRecords =>
  async (from, offsets) => {
    const records: ReadOffsets['records'] = new Map();
    const known = (await log.read([from.topic])).ends.get(partitionKey(from));
    if (!known) throw new Error(`${partitionKey(from)} cannot be read: no leader answers`);
    const inLog = offsets.filter((offset) => offset >= known.low && offset < known.stable);
    const wanted = new Set(inLog);
    let readTo = 0;
    let bytes = 0;
    for (const offset of inLog) {
      // An earlier fetch has read past it.
      if (offset < readTo) continue;
      if (bytes >= bytesPerRead) return { records, remaining: inLog.filter((left) => left >= readTo) };
      const fetched = await log.fetch(from, offset);
      for (const batch of fetched?.batches ?? [])
        for (const record of await recordsOf(from.partition, batch.bytes))
          if (wanted.has(record.position.offset)) {
            records.set(record.position.offset, record);
            bytes += (record.value?.length ?? 0) + record.headers.length;
          }
      readTo = fetched?.nextOffset ?? offset + 1;
    }
    return { records, remaining: [] };
  };

/** The records of a batch; empty if the reader cannot decode the batch. */
async function recordsOf(partition: number, bytes: Buffer): Promise<KafkaRecord[]> {
  try {
    const opened = await openBatch(partition, bytes);
    return opened.read({ at: 0, count: 0 }, Infinity, Infinity).records;
  } catch {
    return [];
  }
}
