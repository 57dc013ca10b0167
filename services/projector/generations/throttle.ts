import { setTimeout as sleep } from 'node:timers/promises';
import type { Applied, ApplyContext } from '../consumer/applied.ts';
import type { KafkaRecord } from '../events/change.ts';

/** What an operator, or the age of the active generation, asks of a projector of a build. */
export type Demand = {
  isPaused: boolean;
  /** Records a second at most; unlimited if absent. */
  pace?: number | undefined;
  /** The active generation falls behind: work half the time. */
  yields: boolean;
};

export type Throttle = {
  demand: (demand: Demand) => void;
  /** Applies a batch when that is allowed. */
  run: (records: KafkaRecord[], context: ApplyContext, apply: () => Promise<Applied>) => Promise<Applied>;
};

/** How often a paused worker looks again, in milliseconds. */
const lookAgainMs = 500;

/** The longest that a worker yields after a batch, in milliseconds. */
const yieldMaxMs = 10_000;

/**
 * Slows a build down. A wait ends where the worker is to stop, and looks at the demand again every half second. While a
 * worker waits it counts as in progress, so that nobody restarts a paused process.
 */
export function createThrottle(nowMs: () => number): Throttle {
  let current: Demand = { isPaused: false, yields: false };
  let nextAtMs = 0;

  const waitWhile = async (leftMs: () => number, { signal, stopping = signal, onProgress }: ApplyContext) => {
    for (let left = leftMs(); left > 0; left = leftMs()) {
      onProgress();
      await sleep(Math.min(left, lookAgainMs), undefined, { signal: AbortSignal.any([signal, stopping]) });
    }
  };
  const untilAllowedMs = () => {
    if (current.isPaused) return lookAgainMs;
    return current.pace === undefined ? 0 : nextAtMs - nowMs();
  };
  return {
    demand: (demand) => {
      current = demand;
    },
    run: async (records, context, apply) => {
      await waitWhile(untilAllowedMs, context);
      // Reserved only when the batch starts: a worker that is stopped while it waits takes nothing.
      if (current.pace !== undefined)
        nextAtMs = Math.max(nowMs(), nextAtMs) + (records.length / current.pace) * 1_000;
      const beganMs = nowMs();
      const applied = await apply();
      const endedMs = nowMs();
      const yieldMs = Math.min(endedMs - beganMs, yieldMaxMs);
      const leftMs = () => (current.yields ? endedMs + yieldMs - nowMs() : 0);
      // What is applied counts, also if the worker is stopped while it yields.
      await waitWhile(leftMs, context).catch(() => undefined);
      return applied;
    },
  };
}
