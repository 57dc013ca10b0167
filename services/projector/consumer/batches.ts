import { splitBySize } from '../../../shared/runtime/split-by-size.ts';
import type { KafkaRecord } from '../events/change.ts';

/** The most records and bytes that are applied together. Both bound the memory and the duration of a batch. */
export const batchRecordsMax = 500;
export const batchBytesMax = 4 * 1024 * 1024;

/** Records of one partition, and the offset of the next record after them (control records are skipped). */
export type RecordBatch = { records: KafkaRecord[]; nextOffset: number; bytes: number };

/** Splits a fetched batch into batches of at most `batchRecordsMax` records. */
export function splitBatch(fetched: RecordBatch): RecordBatch[] {
  const { records, nextOffset, bytes } = fetched;
  if (records.length <= batchRecordsMax) return [fetched];
  const chunks = [...splitBySize(records, () => 1, batchRecordsMax)];
  return chunks.map((chunk, index) => ({
    records: chunk,
    nextOffset: chunks[index + 1]?.[0]?.position.offset ?? nextOffset,
    bytes: (bytes * chunk.length) / records.length,
  }));
}

/** Removes batches from the head of the queue and merges them up to the limits; it takes at least one. */
export function takeBatch(queue: RecordBatch[]): RecordBatch {
  const first = queue.shift() ?? { records: [], nextOffset: 0, bytes: 0 };
  const records = [...first.records];
  let { nextOffset, bytes } = first;
  for (;;) {
    const next = queue[0];
    if (!next || records.length + next.records.length > batchRecordsMax) break;
    if (bytes + next.bytes > batchBytesMax) break;
    queue.shift();
    records.push(...next.records);
    bytes += next.bytes;
    nextOffset = next.nextOffset;
  }
  return { records, nextOffset, bytes };
}
