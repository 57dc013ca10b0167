import { setTimeout as sleep } from 'node:timers/promises';
import type { Applied, ApplyContext } from '../consumer/partition-worker.ts';
import type { KafkaRecord } from '../events/change.ts';

export type ThrottleSettings = {
  /** Records a second at most; 0 stands still, unlimited if absent. */
  pace?: number | undefined;
  /** Apply one batch at a time, so that the store and the cores have room for readers. */
  oneAtATime: boolean;
};

export type Throttle = {
  set: (settings: ThrottleSettings) => void;
  /** Applies a batch when the settings allow it. */
  run: (records: KafkaRecord[], context: ApplyContext, apply: () => Promise<Applied>) => Promise<Applied>;
};

/** How often a waiting worker reads the settings again, in milliseconds. */
const pollMs = 500;

/**
 * Slows a build down. A changed setting also holds for the batches that wait already. A wait ends when the worker is to
 * stop. A waiting worker counts as in progress, so that no process is restarted for standing still.
 */
export function createThrottle(nowMs: () => number): Throttle {
  let settings: ThrottleSettings = { oneAtATime: false };
  let last = { startedMs: -Infinity, records: 0 };
  let inProgress: Promise<unknown> | null = null;

  const remainingMs = ({ pace }: ThrottleSettings): number => {
    if (pace === undefined) return 0;
    return pace === 0 ? Infinity : last.startedMs + (last.records / pace) * 1_000 - nowMs();
  };
  /** The wait of a batch; null when it may start. */
  const obstacle = (pause: (ms: number) => Promise<void>): Promise<unknown> | null => {
    const leftMs = remainingMs(settings);
    if (leftMs > 0) return pause(leftMs);
    return settings.oneAtATime && inProgress ? Promise.race([inProgress, pause(pollMs)]) : null;
  };
  return {
    set: (changed) => {
      settings = changed;
    },
    run: async (records, { signal, stopping = signal, onProgress }, apply) => {
      // One signal for all the pauses of a batch: a signal for each would be garbage by the thousand.
      const either = AbortSignal.any([signal, stopping]);
      const pause = (ms: number) => sleep(Math.min(ms, pollMs), undefined, { signal: either });
      // Nothing is awaited between the last check and the start, so that two batches cannot start on one check.
      for (let waiting = obstacle(pause); waiting; waiting = obstacle(pause)) {
        onProgress();
        await waiting;
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
