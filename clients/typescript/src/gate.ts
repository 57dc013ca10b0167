import { abortable } from './signal.ts';

export type Clock = {
  sleep: (delayMs: number, signal: AbortSignal | undefined) => Promise<void>;
  /** Monotonic: a wall clock that is set back would make the waits longer. */
  nowMs: () => number;
};

/** Requests pass in order. Once the rate limit is reached, all of them wait until the API admits one more. */
export function createGate({ sleep, nowMs }: Clock) {
  let opensAtMs = -Infinity;
  let last = Promise.resolve();
  const wait = async (before: Promise<void>, signal: AbortSignal | undefined) => {
    await abortable(before, signal);
    while (nowMs() < opensAtMs) await sleep(opensAtMs - nowMs(), signal);
  };
  return {
    pass: (signal: AbortSignal | undefined): Promise<void> => {
      const passed = wait(last, signal);
      last = passed.catch(() => undefined);
      return passed;
    },
    closeFor: (delayMs: number) => {
      opensAtMs = Math.max(opensAtMs, nowMs() + delayMs);
    },
  };
}
