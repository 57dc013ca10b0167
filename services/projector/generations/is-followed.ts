import type { Db } from 'mongodb';
import { progressOf } from '../../../shared/store/progress.ts';

/** Projectors save progress every second; after this long without, none is running; in seconds. */
export const silentAfterSeconds = 30;

/** Whether a projector follows the generation. */
export async function isFollowed(control: Db, generation: number, now: Date): Promise<boolean> {
  const [latest] = await progressOf(control).find({ generation }).sort({ updatedAt: -1 }).limit(1).toArray();
  return latest !== undefined && now.getTime() - latest.updatedAt.getTime() < silentAfterSeconds * 1_000;
}
