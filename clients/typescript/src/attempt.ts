import { readAnswer } from './answer.ts';
import { ConnectionError, CutResponseError, TimeoutError } from './errors.ts';
import { linkedController } from './signal.ts';
import type { Answer } from './types.ts';

type AttemptRequest = {
  url: string;
  headers: Record<string, string>;
  timeoutMs: number;
  signal: AbortSignal | undefined;
};

/**
 * Sends the request once, and reads the body. Does not follow redirects: the API sends none, and no other server may
 * receive the key. Rejects with `ApiError`, `ConnectionError` or its `CutResponseError`, `TimeoutError`, or the reason
 * of the caller's signal.
 */
export async function attempt(
  fetch: typeof globalThis.fetch,
  { url, headers, timeoutMs, signal }: AttemptRequest,
): Promise<Answer<unknown>> {
  const { origin } = new URL(url);
  const { controller, unlink } = linkedController(signal);
  const timer = setTimeout(() => controller.abort(new TimeoutError(timeoutMs)), timeoutMs);
  let response: Response | undefined;
  let text: string;
  try {
    response = await fetch(url, { headers, signal: controller.signal, redirect: 'manual' });
    text = await response.text();
  } catch (error) {
    if (controller.signal.aborted) throw controller.signal.reason;
    if (!response) throw new ConnectionError(origin, error);
    throw new CutResponseError(origin, response.headers.get('Request-Id'), error);
  } finally {
    clearTimeout(timer);
    unlink();
  }
  return readAnswer(response, text, { origin, nowMs: Date.now() });
}
