import type { Db } from 'mongodb';
import { isSilent, lastSavedAt } from './progress.ts';

/** Whether a projector follows the generation. */
export async function isFollowed(control: Db, generation: number, now: Date): Promise<boolean> {
  const savedAt = await lastSavedAt(control, generation);
  return savedAt !== null && !isSilent(savedAt, now);
}

/** The lag of a watermark in seconds, less the lateness allowance by which every watermark lags. */
export const lagSeconds = (completeTo: Date, now: Date, allowanceMs: number): number =>
  Math.max(0, (now.getTime() - completeTo.getTime() - allowanceMs) / 1_000);
