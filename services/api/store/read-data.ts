import type { ClientSession } from 'mongodb';
import { type ReadOptions, readWithRetries } from './deadline.ts';
import type { DataSnapshot, StoreTime } from './read-snapshot.ts';

/** The time of the last reply to a session; null from a store without cluster time, such as a single server. */
export const storeTimeOf = ({ operationTime, clusterTime }: ClientSession): StoreTime | null =>
  operationTime && clusterTime?.signature ? { operationTime, clusterTime } : null;

export type ReadDataOptions = ReadOptions & { session?: ClientSession; readPreference?: 'primary' };

/**
 * Runs a read of data within its time limits, with retries until it succeeds. A secondary answers only once it has
 * every write that MongoDB had when the snapshot's watermark was read (`afterClusterTime`). Otherwise its answer could
 * lack changes from before `Data-As-Of`.
 */
export function readData<T>(
  { database, readAfter }: DataSnapshot,
  run: (options: ReadDataOptions) => Promise<T>,
): Promise<T> {
  // Without a time to wait for, only the primary's answer is as new as the watermark.
  if (!readAfter) return readWithRetries((limits) => run({ ...limits, readPreference: 'primary' }));
  return readWithRetries(async (limits) => {
    await using session = database.client.startSession();
    session.advanceClusterTime(readAfter.clusterTime);
    session.advanceOperationTime(readAfter.operationTime);
    return await run({ ...limits, session });
  });
}
