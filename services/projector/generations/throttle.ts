import { setTimeout as sleep } from 'node:timers/promises';
import type { Applied, ApplyContext } from '../consumer/partition-worker.ts';

export type Throttle = {
  /** Whether one batch at a time is applied, which leaves MongoDB and the cores to readers. */
  set: (isOneAtATime: boolean) => void;
  /** Applies a batch when its turn has come. */
  run: (context: ApplyContext, apply: () => Promise<Applied>) => Promise<Applied>;
};

/** A waiting worker reads the setting this often, in milliseconds. */
const pollMs = 500;

/**
 * Lets workers apply one batch at a time while a build loads. A changed setting also applies to waiting batches, and a wait
 * ends when the worker stops. A waiting worker reports progress, so that liveness does not restart its process.
 */
export function createThrottle(): Throttle {
  let isOneAtATime = false;
  let inProgress: Promise<unknown> | null = null;
  return {
    set: (changed) => {
      isOneAtATime = changed;
    },
    run: async ({ signal, stopping = signal, onProgress, onQueued }, apply) => {
      // One signal for all the pauses of a batch: a waiting worker would otherwise create thousands.
      const either = AbortSignal.any([signal, stopping]);
      // No await between the check and the start, so that two batches cannot start on one check.
      while (isOneAtATime && inProgress) {
        onProgress();
        onQueued?.(true);
        await Promise.race([inProgress, sleep(pollMs, undefined, { signal: either })]);
        onQueued?.(false);
      }
      const applying = apply();
      const ended = Promise.allSettled([applying]);
      inProgress = ended;
      void ended.then(() => {
        if (inProgress === ended) inProgress = null;
      });
      return applying;
    },
  };
}
