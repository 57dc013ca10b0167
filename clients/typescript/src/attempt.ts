import { errorOf, readAnswer, type RawAnswer } from './answer.ts';
import { ApiError, ConnectionError, TimeoutError } from './errors.ts';
import { linkedController } from './signal.ts';

export type Request = {
  url: string;
  headers: Record<string, string>;
  timeoutMs: number;
  signal: AbortSignal | undefined;
};

type Deps = { fetch: typeof globalThis.fetch; nowMs: () => number };

/**
 * Sends the request once and reads the body. Does not follow redirects: the API sends none, and no other server may
 * receive the key. Rejects with `ApiError`, `ConnectionError`, `TimeoutError`, or the reason of the caller's signal.
 */
export async function attempt(
  { fetch, nowMs }: Deps,
  { url, headers, timeoutMs, signal }: Request,
): Promise<RawAnswer> {
  const { controller, unlink } = linkedController(signal);
  const timer = setTimeout(() => controller.abort(new TimeoutError(timeoutMs)), timeoutMs);
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, { headers, signal: controller.signal, redirect: 'manual' });
    text = await response.text();
  } catch (error) {
    throw controller.signal.aborted ? controller.signal.reason : new ConnectionError(error);
  } finally {
    clearTimeout(timer);
    unlink();
  }
  return readAnswer(response, text, { nowMs: nowMs(), isConditional: 'If-None-Match' in headers });
}

/**
 * Sends the request once and leaves the body to the caller. `timeoutMs` covers the time until the headers; `signal`
 * also aborts reading the body.
 */
export async function attemptRaw(
  { fetch, nowMs }: Deps,
  { url, headers, timeoutMs, signal }: Request,
): Promise<Response> {
  signal?.throwIfAborted();
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new TimeoutError(timeoutMs)), timeoutMs);
  const either = AbortSignal.any(signal ? [signal, late.signal] : [late.signal]);
  try {
    const response = await fetch(url, { headers, signal: either, redirect: 'manual' });
    const isAnswer = response.ok || (response.status === 304 && 'If-None-Match' in headers);
    if (isAnswer) return response;
    throw errorOf(response, await response.text(), nowMs());
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw either.aborted ? either.reason : new ConnectionError(error);
  } finally {
    clearTimeout(timer);
  }
}
