import { retryPauseMs } from './errors.ts';

/** How failed work is retried. */
export type RetryPolicy = {
  /** The pause after each failed attempt, in milliseconds. It is longer while MongoDB is overloaded. */
  pauseMs: number | ((attempt: number) => number);
  /**
   * Called after each failed attempt, numbered from 1, before its pause of `waitMs`. It reports the failure; an error
   * that it throws ends the attempts.
   */
  onFailed: (error: unknown, attempt: number, waitMs: number) => void;
  /** Ends the pause. No attempt begins after it has aborted: its reason then counts as the failure. */
  signal?: AbortSignal;
};

/**
 * Retries work until it succeeds, or until `onFailed` throws. All retries of failed work use this function, except
 * periodic work (`repeat`) and the rounds of `reconcile`, whose pauses depend on the number of lost races.
 */
export async function retry<T>(policy: RetryPolicy, attemptOnce: () => Promise<T>): Promise<T> {
  const { pauseMs, onFailed, signal } = policy;
  for (let attempt = 1; ; attempt += 1) {
    try {
      signal?.throwIfAborted();
      return await attemptOnce();
    } catch (error) {
      const usualMs = typeof pauseMs === 'number' ? pauseMs : pauseMs(attempt);
      const waitMs = retryPauseMs(error, attempt, usualMs);
      onFailed(error, attempt, waitMs);
      await pause(waitMs, signal);
    }
  }
}

/** Waits for this time, or until the signal aborts. Never rejects. */
const pause = (ms: number, signal?: AbortSignal) =>
  new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
    if (signal?.aborted) end();
  });
