import { setTimeout as sleep } from 'node:timers/promises';

/** A batch has at most this many documents, which bounds the memory and the work that an interruption loses. */
const batchSize = 200;

/** The batch size at a pace in documents a second. A batch has at most the documents of one second. */
export function batchSizeAt(pace: number | undefined): number {
  if (pace === undefined) return batchSize;
  const perSecond = Math.max(1, Math.ceil(pace));
  return Math.min(batchSize, perSecond);
}

/**
 * Returns a function to call after each batch, which waits until the next one may start at `pace` documents a second.
 * It does not catch up on time in which MongoDB was slow, because a burst would hit MongoDB as it recovers.
 */
export function createPace(pace: number | undefined, nowMs = () => performance.now(), wait = sleep) {
  let dueMs = nowMs();
  return async (count: number): Promise<void> => {
    if (pace === undefined) return;
    dueMs += (count / pace) * 1_000;
    const waitMs = dueMs - nowMs();
    if (waitMs > 0) await wait(waitMs);
    else dueMs = nowMs();
  };
}
