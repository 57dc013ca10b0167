import type { Db } from 'mongodb';
import { type Hello, readHello } from './hello.ts';

/**
 * A write that a majority has not confirmed for this long waits for lost members, in milliseconds. An idle primary
 * writes every ten seconds, so the confirmed write before may be that old in a replica set without a fault.
 */
const confirmedWithinMs = 20_000;

/**
 * Since when no write of the services was confirmed, because a replica set has a primary, but no majority that holds
 * data: of a primary, a secondary and an arbiter the secondary is down. Null if writes are confirmed.
 */
export function noMajoritySince({ localTime, lastWrite }: Hello): Date | null {
  const { opTime, majorityOpTime, majorityWriteDate } = lastWrite ?? {};
  if (!opTime || !majorityOpTime || !majorityWriteDate) return null;
  if (String(opTime.ts) === String(majorityOpTime.ts)) return null;
  return localTime.getTime() - majorityWriteDate.getTime() > confirmedWithinMs ? majorityWriteDate : null;
}

/** The same, of the primary that the control database is read from. */
export const readNoMajoritySince = async (control: Db): Promise<Date | null> =>
  noMajoritySince(await readHello(control));
