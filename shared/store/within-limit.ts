import { MongoNetworkTimeoutError } from 'mongodb';

/** Longer than a write waits for a majority. */
const defaultLimitMs = 60_000;

/**
 * Runs a command that may be larger than the buffers of a socket. If the primary falls silent while such a command is
 * written, the driver alone waits for ever. After the limit it fails as a lost connection does: a write may have
 * applied.
 */
export async function withinLimit<T>(
  run: (options: { signal: AbortSignal }) => Promise<T>,
  limitMs = defaultLimitMs,
): Promise<T> {
  const controller = new AbortController();
  const expire = () => controller.abort(new MongoNetworkTimeoutError(`no reply within ${limitMs} ms`));
  const timer = setTimeout(expire, limitMs);
  return run({ signal: controller.signal }).finally(() => clearTimeout(timer));
}
