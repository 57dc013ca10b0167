import { MongoNetworkTimeoutError } from 'mongodb';

/** In milliseconds; longer than a write waits for a majority. */
const defaultLimitMs = 60_000;

/**
 * Runs a command that may be larger than the buffers of a socket. If the primary falls silent while the driver writes
 * such a command, the driver waits for ever. After the limit the command fails like one on a lost connection: MongoDB
 * may have applied a write.
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
