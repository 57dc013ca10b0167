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

/** Slows a build down. A wait ends where the worker is to stop. While a worker waits it counts as in progress, so that nobody restarts a paused process. */
export function createThrottle(nowMs: () => number): Throttle {
  let current: Demand = { isPaused: false, yields: false };
  let nextAtMs = 0;

  const wait = async (ms: number, { signal, stopping = signal, onProgress }: ApplyContext) => {
    onProgress();
    await sleep(ms, undefined, { signal: AbortSignal.any([signal, stopping]) });
  };
  return {
    demand: (demand) => {
      current = demand;
    },
    run: async (records, context, apply) => {
      while (current.isPaused) await wait(lookAgainMs, context);
      if (current.pace !== undefined) {
        const startMs = Math.max(nowMs(), nextAtMs);
        nextAtMs = startMs + (records.length / current.pace) * 1_000;
        for (let leftMs = startMs - nowMs(); leftMs > 0; leftMs = startMs - nowMs())
          await wait(Math.min(leftMs, lookAgainMs), context);
      }
      const beganMs = nowMs();
      const applied = await apply();
      // What is applied counts, also if the worker is stopped while it yields.
      if (current.yields) await wait(nowMs() - beganMs, context).catch(() => undefined);
      return applied;
    },
  };
}
