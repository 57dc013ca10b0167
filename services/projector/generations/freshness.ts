import type { Db } from 'mongodb';
import { progressOf } from '../../../shared/store/progress.ts';

/** Projectors save progress every second; after this long without, none is running; in seconds. */
export const silentAfterSeconds = 30;

/** Whether a projector follows the generation. */
export async function isFollowed(control: Db, generation: number, now: Date): Promise<boolean> {
  const [latest] = await progressOf(control).find({ generation }).sort({ updatedAt: -1 }).limit(1).toArray();
  return latest !== undefined && now.getTime() - latest.updatedAt.getTime() < silentAfterSeconds * 1_000;
}

/** How far a watermark is behind the clock, in seconds, less the lateness allowance by which every watermark lags. */
export const secondsBehind = (completeTo: Date, now: Date, allowanceMs: number): number =>
  Math.max(0, (now.getTime() - completeTo.getTime() - allowanceMs) / 1_000);
