import type { Db } from 'mongodb';
import { progressOf } from '../../shared/control/progress.ts';
import { storeTime } from '../../shared/store/clock.ts';
import { eventually } from './eventually.ts';

/** Longer than a partition with records may stand still, and shorter than the commit loop may be silent. */
export const stuckMs = 400_000;

/** Resolves when the liveness of a projector has observed a run of its commit loop that began after this call. */
export async function observed(control: Db, generation = 1): Promise<void> {
  // A run saves its progress a moment before the projector observes it, so only the previous run is certainly observed.
  for (let run = 0; run < 2; run += 1) {
    const updatedAt = { $gt: await storeTime(control) };
    await eventually(async () => (await progressOf(control).findOne({ generation, updatedAt })) !== null);
  }
}
