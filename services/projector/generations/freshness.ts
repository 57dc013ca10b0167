import type { Db } from 'mongodb';
import { progressOf } from '../../../shared/store/progress.ts';

/** If no progress was saved for this many seconds, no projector is running. Projectors save every second. */
export const silentAfterSeconds = 30;

/** Whether a projector follows the generation. */
export async function isFollowed(control: Db, generation: number, now: Date): Promise<boolean> {
  const [latest] = await progressOf(control).find({ generation }).sort({ updatedAt: -1 }).limit(1).toArray();
  return latest !== undefined && now.getTime() - latest.updatedAt.getTime() < silentAfterSeconds * 1_000;
}

/** The lag of a watermark in seconds, less the lateness allowance by which every watermark lags. */
export const lagSeconds = (completeTo: Date, now: Date, allowanceMs: number): number =>
  Math.max(0, (now.getTime() - completeTo.getTime() - allowanceMs) / 1_000);
