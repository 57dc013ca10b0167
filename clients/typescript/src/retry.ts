import { delayAfter } from './backoff.ts';
import { ApiError, ConnectionError, TimeoutError } from './errors.ts';
import { type Clock, createGate } from './gate.ts';

export type RetryDeps = Clock & {
  /** From 0 up to 1. */
  random: () => number;
};

type RetrySettings = { retries: number; retryForMs: number; signal: AbortSignal | undefined };

/**
 * Returns a function that retries a failed request while it may still succeed. Every request is a GET, so a retry is
 * safe. A wait for the rate limit counts neither as a failed attempt nor towards the time limit.
 */
export function createRetries({ sleep, random, nowMs }: RetryDeps) {
  const gate = createGate({ sleep, nowMs });
  let hasAnswered = false;
  /** Until the API has answered once, a refused connection means a wrong `baseUrl`. After that, it means an outage. */
  const canRecover = (error: unknown) =>
    isTransient(error) && (hasAnswered || !(error instanceof ConnectionError && error.isRefused));
  return async <Result>(
    { retries, retryForMs, signal }: RetrySettings,
    run: () => Promise<Result>,
  ): Promise<Result> => {
    let untilMs = nowMs() + retryForMs;
    let failures = 0;
    for (;;) {
      const waitStartMs = nowMs();
      await gate.pass(signal);
      untilMs += nowMs() - waitStartMs;
      try {
        const result = await run();
        hasAnswered = true;
        return result;
      } catch (error) {
        hasAnswered ||= error instanceof ApiError && error.code !== null;
        if (retries > 0 && isRateLimit(error, retryForMs)) {
          gate.closeFor(error.retryAfterMs);
          continue;
        }
        failures += 1;
        if (!canRecover(error) || failures > retries) throw error;
        const delayMs = delayAfter(failures, error instanceof ApiError ? error.retryAfterMs : null, random);
        if (nowMs() + delayMs > untilMs) throw error;
        await sleep(delayMs, signal);
      }
    }
  };
}

/** Whether to wait: the window of the key moves on. The 429 of a proxy may last, so it counts as a failure. */
const isRateLimit = (error: unknown, waitMaxMs: number): error is ApiError & { retryAfterMs: number } =>
  error instanceof ApiError &&
  error.code === 'too_many_requests' &&
  error.retryAfterMs !== null &&
  error.retryAfterMs <= waitMaxMs;

function isTransient(error: unknown): boolean {
  if (!(error instanceof ApiError)) return error instanceof ConnectionError || error instanceof TimeoutError;
  // The API sends Retry-After with a 503 whenever a retry can help. A proxy's 503 is always retried.
  if (error.status === 503 && error.code !== null) return error.retryAfterMs !== null;
  return error.status >= 500 || error.status === 429 || error.status === 408;
}
