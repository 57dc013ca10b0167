import { readAnswer, type RawAnswer } from './answer.ts';
import { ConnectionError, TimeoutError } from './errors.ts';
import { linkedController } from './signal.ts';

type Request = {
  url: string;
  headers: Record<string, string>;
  timeoutMs: number;
  signal: AbortSignal | undefined;
};

/**
 * Asks once. A redirect is not followed: the API has none, and the key is for no other place. Fails with
 * `ApiError`, `ConnectionError`, `TimeoutError`, or the reason of the caller's signal.
 */
export async function attempt(
  { fetch, nowMs }: { fetch: typeof globalThis.fetch; nowMs: () => number },
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
  return readAnswer(response, text, nowMs());
}
