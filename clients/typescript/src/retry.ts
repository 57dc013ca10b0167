import { delayAfter } from './backoff.ts';
import { ApiError, ConnectionError, TimeoutError } from './errors.ts';

export type Failure = ApiError | ConnectionError | TimeoutError;

export type Retry = {
  /** 1 after the first attempt. */
  attempt: number;
  delayMs: number;
  error: Failure;
  /** As in the OpenAPI document, `/v1/tickets/{id}`. */
  path: string;
};

export type RetryDeps = {
  sleep: (delayMs: number, signal: AbortSignal | undefined) => Promise<void>;
  /** From 0 up to 1. */
  random: () => number;
  nowMs: () => number;
};

type Policy = { retries: number; retryForMs: number; onRetry: (retry: Retry) => void };

/** Repeats requests that may succeed later. Every request is a GET, so repeating it is safe. */
export async function withRetries<Result>(
  { sleep, random, nowMs }: RetryDeps,
  { retries, retryForMs, onRetry }: Policy,
  { path, signal }: { path: string; signal: AbortSignal | undefined },
  run: () => Promise<Result>,
): Promise<Result> {
  const startedMs = nowMs();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (!isTransient(error) || attempt > retries) throw error;
      const delayMs = delayAfter(attempt, error instanceof ApiError ? error.retryAfterMs : null, random);
      if (nowMs() - startedMs + delayMs > retryForMs) throw error;
      onRetry({ attempt, delayMs, error, path });
      await sleep(delayMs, signal);
    }
  }
}

function isTransient(error: unknown): error is Failure {
  if (!(error instanceof ApiError)) return error instanceof ConnectionError || error instanceof TimeoutError;
  // The API sends Retry-After with a 503 whenever a retry can help. A proxy's 503 is always retried.
  if (error.status === 503 && error.code !== null) return error.retryAfterMs !== null;
  return error.status >= 500 || error.status === 429 || error.status === 408;
}
