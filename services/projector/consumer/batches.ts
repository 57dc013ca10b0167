import type { KafkaRecord } from '../events/change.ts';

/** Records and bytes applied in one go, at most: bounds the memory and the length of a step. */
export const batchRecordsMax = 500;
export const batchBytesMax = 4 * 1024 * 1024;

/** What a fetch brought: its records, and the offset behind it (past control records too). */
export type Fetched = { records: KafkaRecord[]; nextOffset: number; bytes: number };

/** Cuts what was fetched into pieces of at most a step's records. */
export function splitFetch(fetched: Fetched): Fetched[] {
  const { records, nextOffset, bytes } = fetched;
  if (records.length <= batchRecordsMax) return [fetched];
  const result: Fetched[] = [];
  for (let start = 0; start < records.length; start += batchRecordsMax) {
    const piece = records.slice(start, start + batchRecordsMax);
    const next = records[start + batchRecordsMax]?.position.offset ?? nextOffset;
    result.push({ records: piece, nextOffset: next, bytes: (bytes * piece.length) / records.length });
  }
  return result;
}

/** Takes as many pieces off the queue's head as one step may hold, at least one. */
export function takeBatch(queue: Fetched[]): Fetched {
  const step = queue.shift() ?? { records: [], nextOffset: 0, bytes: 0 };
  const records = [...step.records];
  let { nextOffset, bytes } = step;
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
