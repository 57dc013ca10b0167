import type { Db } from 'mongodb';
import type { Generation } from '../../../shared/control/generations.ts';
import { lastSavedAt, raiseWatermark, watermark } from '../../../shared/control/progress.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { storeTime } from '../../../shared/store/clock.ts';

/**
 * The progress of a generation is gone. A projector would apply the log from its beginning: deleted entities could come
 * back for that time, below a `Data-As-Of` that denies it, and no gap of the log would be found.
 */
class ProgressLost extends Error {
  override name = 'ProgressLost';
}

type CheckDeps = {
  control: Db;
  registered: Generation;
  /** The topics of this projector. */
  topics: string[];
  /** A trial leaves a lost watermark as it is. */
  isTrial: boolean;
  logger: Logger;
};

/**
 * Throws `ProgressLost` if projectors have followed a generation before, but its progress is gone. If only its
 * watermark is gone, sets it to the minimum instant of its partitions. This is never later than the lost watermark,
 * which was the highest such minimum so far.
 */
export async function checkProgress(deps: CheckDeps): Promise<void> {
  const { control, registered, topics, isTrial, logger } = deps;
  const { number } = registered;
  const completeTo = await watermark(control, number);
  const hasProgress = (await lastSavedAt(control, number)) !== null;
  if (!hasProgress && wasFollowed(registered, completeTo))
    throw new ProgressLost(`the progress of generation ${number} is lost`);
  if (!hasProgress || completeTo !== null || isTrial) return;
  const raised = await raiseWatermark(control, number, topics, await storeTime(control));
  logger.warn(
    { generation: number, watermark: raised.watermark },
    'the watermark was lost, and is set again',
  );
}

/** A watermark after 1970, and these states, need progress of every partition. */
const wasFollowed = ({ state }: Generation, completeTo: Date | null): boolean =>
  (completeTo?.getTime() ?? 0) > 0 || ['catching-up', 'ready', 'standby'].includes(state);
