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
  /** Apply one batch at a time, so that the store and the cores have room for readers. */
  oneAtATime?: boolean | undefined;
};

export type Throttle = {
  demand: (demand: Demand) => void;
  /** Applies a batch when that is allowed. */
  run: (records: KafkaRecord[], context: ApplyContext, apply: () => Promise<Applied>) => Promise<Applied>;
};

/** Waits, but no longer than until the next look; rejects where the worker is to stop. */
type Pause = (ms: number) => Promise<void>;

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
  let inProgress: Promise<unknown> | null = null;

  /** One signal for all the pauses of a batch: a signal for each would be garbage by the thousand. */
  const createPause = ({ signal, stopping = signal }: ApplyContext): Pause => {
    const either = AbortSignal.any([signal, stopping]);
    return (ms) => sleep(Math.min(ms, lookAgainMs), undefined, { signal: either });
  };
  const untilAllowedMs = () => {
    if (current.isPaused) return lookAgainMs;
    return current.pace === undefined ? 0 : nextAtMs - nowMs();
  };
  /** What a batch waits for; null once it may start. */
  const obstacle = (pause: Pause): Promise<unknown> | null => {
    const leftMs = untilAllowedMs();
    if (leftMs > 0) return pause(leftMs);
    return current.oneAtATime && inProgress ? Promise.race([inProgress, pause(lookAgainMs)]) : null;
  };
  const applyAndYield = async (context: ApplyContext, pause: Pause, apply: () => Promise<Applied>) => {
    const beganMs = nowMs();
    const applied = await apply();
    const endedMs = nowMs();
    const yieldUntilMs = endedMs + Math.min(endedMs - beganMs, yieldMaxMs);
    while (current.yields && nowMs() < yieldUntilMs) {
      context.onProgress();
      const isStopped = await pause(yieldUntilMs - nowMs()).then(
        () => false,
        () => true,
      );
      // What is applied counts, also if the worker is stopped while it yields.
      if (isStopped) break;
    }
    return applied;
  };
  return {
    demand: (demand) => {
      current = demand;
    },
    run: async (records, context, apply) => {
      // Nothing is awaited between the last look and the start, so that two batches cannot start on one look.
      const pause = createPause(context);
      for (let waiting = obstacle(pause); waiting; waiting = obstacle(pause)) {
        context.onProgress();
        await waiting;
      }
      // Reserved only when the batch starts: a worker that is stopped while it waits takes nothing.
      if (current.pace !== undefined)
        nextAtMs = Math.max(nowMs(), nextAtMs) + (records.length / current.pace) * 1_000;
      const applying = applyAndYield(context, pause, apply);
      const ended = applying.then(
        () => undefined,
        () => undefined,
      );
      inProgress = ended;
      void ended.then(() => {
        if (inProgress === ended) inProgress = null;
      });
      return applying;
    },
  };
}
