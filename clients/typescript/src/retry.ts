import { delayAfter } from './backoff.ts';
import { ApiError, ConnectionError, TimeoutError } from './errors.ts';

export type Failure = ApiError | ConnectionError | TimeoutError;

export type Retry = {
  /** 1 after the first attempt. */
  attempt: number;
  delayMs: number;
  error: Failure;
  /** As the document writes it, `/v1/tickets/{id}`. */
  path: string;
};

export type RetryDeps = {
  sleep: (delayMs: number, signal: AbortSignal | undefined) => Promise<void>;
  /** From 0 up to 1. */
  random: () => number;
  nowMs: () => number;
};

type Policy = { retries: number; retryForMs: number; onRetry: (retry: Retry) => void };

/** Repeats what may succeed later. Every request is a GET, so that none does harm twice. */
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
      if (!isPassing(error) || attempt > retries) throw error;
      const delayMs = delayAfter(attempt, error instanceof ApiError ? error.retryAfterMs : null, random);
      if (nowMs() - startedMs + delayMs > retryForMs) throw error;
      onRetry({ attempt, delayMs, error, path });
      await sleep(delayMs, signal);
    }
  }
}

function isPassing(error: unknown): error is Failure {
  if (!(error instanceof ApiError)) return error instanceof ConnectionError || error instanceof TimeoutError;
  // The API says when to try again wherever that may help. A proxy's own 503 says nothing either way.
  if (error.status === 503 && error.code !== null) return error.retryAfterMs !== null;
  return error.status >= 500 || error.status === 429 || error.status === 408;
}
