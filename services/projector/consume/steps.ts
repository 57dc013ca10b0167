import type { BusRecord } from '../events/change.ts';

/** Records and bytes applied in one go, at most: bounds the memory and the length of a step. */
export const recordsPerStepMax = 500;
export const bytesPerStepMax = 4 * 1024 * 1024;

/** What a fetch brought: its records, and the offset behind it (past control records too). */
export type Fetched = { records: BusRecord[]; nextOffset: number; bytes: number };

/** Cuts what was fetched into pieces of at most a step's records. */
export function pieces(fetched: Fetched): Fetched[] {
  const { records, nextOffset, bytes } = fetched;
  if (records.length <= recordsPerStepMax) return [fetched];
  const result: Fetched[] = [];
  for (let start = 0; start < records.length; start += recordsPerStepMax) {
    const piece = records.slice(start, start + recordsPerStepMax);
    const next = records[start + recordsPerStepMax]?.position.offset ?? nextOffset;
    result.push({ records: piece, nextOffset: next, bytes: (bytes * piece.length) / records.length });
  }
  return result;
}

/** Takes as many pieces off the queue's head as one step may hold, at least one. */
export function takeStep(queue: Fetched[]): Fetched {
  const step = queue.shift() ?? { records: [], nextOffset: 0, bytes: 0 };
  const records = [...step.records];
  let { nextOffset, bytes } = step;
  for (;;) {
    const next = queue[0];
    if (!next || records.length + next.records.length > recordsPerStepMax) break;
    if (bytes + next.bytes > bytesPerStepMax) break;
    queue.shift();
    records.push(...next.records);
    bytes += next.bytes;
    nextOffset = next.nextOffset;
  }
  return { records, nextOffset, bytes };
}
