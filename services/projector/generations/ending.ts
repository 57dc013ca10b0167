import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import { storeFailure } from '../../../shared/control/failures.ts';
import { readLogGaps, storeLogGaps } from '../../../shared/control/log-gaps.ts';
import { withRemedy } from '../../../shared/kafka/errors.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { GapFound } from '../consumer/gap-detector.ts';

export type EndingDeps = {
  control: Db;
  generation: number;
  /** Host and process. */
  by: string;
  /** MongoDB's clock. */
  now: () => Date;
  logger: Logger;
};

const retryDelayMs = 1_000;

/**
 * Stores why a projector ends. A gap is stored before the projector ends, however long MongoDB takes: the next start
 * might not find it, because the log has grown. Never rejects.
 */
async function storeEnd(deps: EndingDeps, error: Error): Promise<void> {
  if (!(error instanceof GapFound)) return storeFailure(deps, error.message);
  for (;;) {
    try {
      return await storeLogGaps(deps, error.gaps, deps.now());
    } catch (cause) {
      deps.logger.warn({ error: cause }, 'could not store a gap in the log; trying again');
      await sleep(retryDelayMs);
    }
  }
}

/** Stores why the projector ends, before it does. Of several errors, the first one counts. */
export function storingEnd(ending: EndingDeps, onFatal: (error: Error) => void): (error: Error) => void {
  let stored: Promise<void> | null = null;
  return (error) => {
    const end = withRemedy(error);
    stored ??= storeEnd(ending, end).then(() => onFatal(end));
  };
}

/** Rejects with `GapFound` if a projector has found a gap in this generation that no operator has accepted. */
export async function refuseGaps({ control, generation }: Pick<EndingDeps, 'control' | 'generation'>) {
  const gaps = await readLogGaps(control, generation);
  if (gaps.length > 0) throw new GapFound(gaps);
}
