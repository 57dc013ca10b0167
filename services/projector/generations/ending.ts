import type { Db } from 'mongodb';
import { readLogGaps, storeLogGaps } from '../../../shared/control/log-gaps.ts';
import { withFix } from '../../../shared/kafka/errors.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { retry } from '../../../shared/store/retry.ts';
import type { Announcement } from '../announce-projector.ts';
import { GapFound } from '../consumer/gap-detector.ts';

export type EndingDeps = {
  control: Db;
  generation: number;
  /** Host and process. */
  by: string;
  /** MongoDB's clock. */
  now: () => Date;
  announcement: Pick<Announcement, 'end'>;
  logger: Logger;
};

/** The pause before another attempt to store a gap, in milliseconds. */
const pauseMs = 1_000;

/**
 * Announces why a projector ends. Stores a gap first, and retries until MongoDB takes it: the next start might not find
 * the gap, because the log may have grown past it. The stored gap is then the reason, and none is announced. Never
 * rejects.
 */
async function storeEnd(deps: EndingDeps, error: Error): Promise<void> {
  const { announcement } = deps;
  if (!(error instanceof GapFound)) return announcement.end('ended', error.message);
  const onFailed = (cause: unknown) =>
    deps.logger.warn({ error: cause }, 'could not store a gap in the log; trying again');
  await retry({ pauseMs, onFailed }, () => storeLogGaps(deps, error.gaps, deps.now()));
  await announcement.end('ended', null);
}

/** Returns a function that stores why the projector ends, then calls `onFatal`. Of several errors, the first counts. */
export function storeEndBefore(onFatal: (error: Error) => void, ending: EndingDeps): (error: Error) => void {
  let storing: Promise<void> | null = null;
  return (error) => {
    const reason = withFix(error);
    storing ??= storeEnd(ending, reason).then(() => onFatal(reason));
  };
}

/** Rejects with `GapFound` if a projector has found a gap in this generation that no operator has accepted. */
export async function refuseGaps({ control, generation }: Pick<EndingDeps, 'control' | 'generation'>) {
  const gaps = await readLogGaps(control, generation);
  if (gaps.length > 0) throw new GapFound(gaps);
}
