import { setTimeout as sleep } from 'node:timers/promises';

/** Documents at a time. Limits memory, and the work that an interruption repeats. */
export const batchSize = 200;

/** A slow pace has smaller batches, so that no second has much more than its share. */
export const batchSizeAt = (pace = batchSize): number => Math.min(batchSize, Math.max(1, Math.ceil(pace)));

/**
 * Returns a function to call after each batch. It waits until the next one keeps the pace. Time that a slow MongoDB has
 * taken is not made up for: a burst would meet it just when it has recovered.
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
