import type { Db } from 'mongodb';
import { type Hello, readHello } from './hello.ts';

/**
 * If the last confirmed write is older than this, in milliseconds, a majority is missing. An idle primary writes every
 * ten seconds, so in a healthy replica set it may be ten seconds old.
 */
const confirmedWithinMs = 20_000;

/**
 * The time of the last write that a majority has confirmed, if no later write is confirmed: the replica set has a
 * primary, but too few members with data. An example is a primary and an arbiter without their secondary. Null if
 * writes are confirmed.
 */
export function noMajoritySince({ localTime, lastWrite }: Hello): Date | null {
  const { opTime, majorityOpTime, majorityWriteDate } = lastWrite ?? {};
  if (!opTime || !majorityOpTime || !majorityWriteDate) return null;
  if (String(opTime.ts) === String(majorityOpTime.ts)) return null;
  return localTime.getTime() - majorityWriteDate.getTime() > confirmedWithinMs ? majorityWriteDate : null;
}

/** Reads `noMajoritySince` from the primary of the control database. */
export const readNoMajoritySince = async (control: Db): Promise<Date | null> =>
  noMajoritySince(await readHello(control));
