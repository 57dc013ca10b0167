import type { AppliedChunk, Attempt } from '../../services/projector/hand-over.ts';
import { rawBatch } from './example-responses.ts';
import { received, startPartition } from './start-partition.ts';

/** A batch up to its last offset, with records at these offsets. */
export const batch = (lastOffset: number, ...offsets: number[]) =>
  rawBatch({ baseOffset: offsets[0] ?? 0, lastOffset, records: offsets.map((offset) => ({ offset })) });
export const nothingApplied = { events: 0, rejected: [], times: [] };
export const until = async (isDone: () => boolean) => {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 1));
};

/** An attempt to apply the records at these offsets, which the test ends or fails. */
type ControlledAttempt = Attempt & { offsets: number[]; end: () => void; fail: (error?: Error) => void };

/** A partition at offset 5. The test decides when each attempt to apply a chunk fails or ends. */
export function createTestPartition() {
  const attempts: ControlledAttempt[] = [];
  const applied: (number | null)[] = [];
  const partition = startPartition(5, {
    apply: ({ records }, attempt) => {
      const { promise, resolve, reject } = Promise.withResolvers<AppliedChunk>();
      const offsets = records.map(({ position }) => position.offset);
      const end = () => resolve(nothingApplied);
      const fail = (error = new Error('refused by MongoDB')) => reject(error);
      attempts.push({ ...attempt, offsets, end, fail });
      return promise;
    },
    onApplied: (self) => applied.push(self.position),
  });
  partition.receive(received([batch(8, 5, 7)], 9));
  /** Resolves with the attempt of this number, counted from 0, once the partition makes that attempt. */
  const attempt = async (number: number) => {
    await until(() => attempts.length > number);
    return attempts[number] as ControlledAttempt;
  };
  return { partition, attempts, attempt, applied };
}
