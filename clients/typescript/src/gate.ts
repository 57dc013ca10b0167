import { abortable } from './signal.ts';

export type Clock = {
  sleep: (delayMs: number, signal: AbortSignal | undefined) => Promise<void>;
  /** Monotonic: a wall clock that is set back would make the waits longer. */
  nowMs: () => number;
};

/**
 * The gate through which all requests of a client pass, in order. A 429 closes it for the time of its `Retry-After`.
 * Otherwise the API would refuse each waiting request separately.
 */
export function createGate({ sleep, nowMs }: Clock) {
  let opensAtMs = -Infinity;
  /** Resolves when the newest request has passed. The next request waits for it. */
  let lastPassed = Promise.resolve();
  const wait = async (before: Promise<void>, signal: AbortSignal | undefined) => {
    await abortable(before, signal);
    while (nowMs() < opensAtMs) await sleep(opensAtMs - nowMs(), signal);
  };
  return {
    /** Resolves when the request may be sent. Rejects with the signal's reason. */
    pass: (signal: AbortSignal | undefined): Promise<void> => {
      const passed = wait(lastPassed, signal);
      // An aborted request lets the next one pass.
      lastPassed = passed.catch(() => undefined);
      return passed;
    },
    /** Holds all requests for this time. A gate that is already closed for longer stays so. */
    closeFor: (delayMs: number) => {
      opensAtMs = Math.max(opensAtMs, nowMs() + delayMs);
    },
  };
}
