import { setTimeout as sleep } from 'node:timers/promises';
import { retryPauseMs } from '../../../shared/store/errors.ts';

type RetryDeps = {
  /** Ends the attempts, and the pause between two of them. */
  stopping: AbortSignal;
  /** The pause after the first failed attempt, in milliseconds. It grows with each attempt, up to ten seconds. */
  retryDelayMs: number;
  /** Called after each failed attempt, by their number from 1 on. What it throws ends the attempts. */
  onFailed: (error: unknown, attempt: number) => void;
};

/**
 * Repeats work until it succeeds. A pause between two attempts takes ten seconds at most, and longer only while MongoDB
 * is overloaded.
 */
export async function retry<T>(deps: RetryDeps, attemptOnce: () => Promise<T>): Promise<T> {
  const { stopping, retryDelayMs, onFailed } = deps;
  for (let attempt = 1; ; attempt += 1)
    try {
      stopping.throwIfAborted();
      return await attemptOnce();
    } catch (error) {
      onFailed(error, attempt);
      const pauseMs = retryPauseMs(error, attempt, Math.min(retryDelayMs * attempt, 10_000));
      await sleep(pauseMs, undefined, { signal: stopping }).catch(() => undefined);
    }
}
