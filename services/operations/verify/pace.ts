import { setTimeout as sleep } from 'node:timers/promises';

/** The number of documents in a batch. It limits the memory, and the work that a run after an interruption repeats. */
const batchSize = 200;

/** The batch size at a pace in documents a second. A batch is no larger than the share of one second. */
export const batchSizeAt = (pace = batchSize): number => Math.min(batchSize, Math.max(1, Math.ceil(pace)));

/**
 * Returns a function to call after each batch, which waits until the next one may start at `pace` documents a second.
 * It does not make up for time in which MongoDB was slow: a burst would hit MongoDB as it recovers.
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
