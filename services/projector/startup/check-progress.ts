import type { Db } from 'mongodb';
import type { Generation } from '../../../shared/control/generations.ts';
import { lastSavedAt, raiseWatermark, readWatermark } from '../../../shared/control/progress.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { storeTime } from '../../../shared/store/clock.ts';

/**
 * The progress of a generation is gone. A projector would apply the log from its beginning, and find no gap of the log.
 * Until its end, deleted entities could come back, although `Data-As-Of` promises current data.
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
 * watermark is gone, sets it to the minimum instant of its partitions. The lost watermark was the highest minimum so
 * far, so the new watermark is never later.
 */
export async function checkProgress(deps: CheckDeps): Promise<void> {
  const { control, registered, topics, isTrial, logger } = deps;
  const { number } = registered;
  const completeTo = await readWatermark(control, number);
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

/**
 * Whether projectors have saved progress: otherwise the watermark stays at 1970, and a build stays in its first state.
 */
const wasFollowed = ({ state }: Generation, completeTo: Date | null): boolean =>
  (completeTo?.getTime() ?? 0) > 0 || ['catching-up', 'ready', 'standby'].includes(state);
