import { setTimeout as sleep } from 'node:timers/promises';
import type { Applied, ApplyContext } from '../consumer/partition-worker.ts';
import type { KafkaRecord } from '../kafka/record-format.ts';

export type ThrottleSettings = {
  /** The maximum number of records a second. 0 pauses; unlimited if absent. */
  pace?: number | undefined;
  /** Apply one batch at a time, which leaves MongoDB and the cores to readers. */
  oneAtATime: boolean;
};

export type Throttle = {
  set: (settings: ThrottleSettings) => void;
  /** Applies a batch when the settings allow it. */
  run: (records: KafkaRecord[], context: ApplyContext, apply: () => Promise<Applied>) => Promise<Applied>;
};

/** A waiting worker reads the settings this often, in milliseconds. */
const pollMs = 500;

/**
 * Limits how fast workers apply batches. A changed setting also applies to waiting batches, and a wait ends when the worker
 * stops. A waiting worker reports progress, so that liveness does not restart a paused process.
 */
export function createThrottle(nowMs: () => number): Throttle {
  let settings: ThrottleSettings = { oneAtATime: false };
  let last = { startedMs: -Infinity, records: 0 };
  let inProgress: Promise<unknown> | null = null;

  const remainingMs = ({ pace }: ThrottleSettings): number => {
    if (pace === undefined) return 0;
    return pace === 0 ? Infinity : last.startedMs + (last.records / pace) * 1_000 - nowMs();
  };
  /** Resolves when a batch should check again whether it may start; null if it may start. */
  const obstacle = (pause: (ms: number) => Promise<void>): Promise<unknown> | null => {
    const leftMs = remainingMs(settings);
    if (leftMs > 0) return pause(leftMs);
    return settings.oneAtATime && inProgress ? Promise.race([inProgress, pause(pollMs)]) : null;
  };
  return {
    set: (changed) => {
      settings = changed;
    },
    run: async (records, { signal, stopping = signal, onProgress, onPaced }, apply) => {
      // One signal for all the pauses of a batch: a paused worker would otherwise create thousands.
      const either = AbortSignal.any([signal, stopping]);
      const pause = (ms: number) => sleep(Math.min(ms, pollMs), undefined, { signal: either });
      // No await between the check and the start, so that two batches cannot start on one check.
      for (let waiting = obstacle(pause); waiting; waiting = obstacle(pause)) {
        onProgress();
        onPaced?.(true);
        await waiting;
        onPaced?.(false);
      }
      last = { startedMs: nowMs(), records: records.length };
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
