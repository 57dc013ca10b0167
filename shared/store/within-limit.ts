import { MongoNetworkTimeoutError } from 'mongodb';

/** The default limit, in milliseconds. It is longer than a write waits for a majority. */
const defaultLimitMs = 60_000;

/**
 * Runs a command that may be larger than the buffers of a socket. If the primary falls silent while the driver writes
 * such a command, the driver waits forever. After the limit the command fails like one on a lost connection, although
 * MongoDB may have applied a write.
 */
export async function withCommandLimit<T>(
  run: (options: { signal: AbortSignal }) => Promise<T>,
  limitMs = defaultLimitMs,
): Promise<T> {
  const controller = new AbortController();
  const expire = () => controller.abort(new MongoNetworkTimeoutError(`no reply within ${limitMs} ms`));
  const timer = setTimeout(expire, limitMs);
  return run({ signal: controller.signal }).finally(() => clearTimeout(timer));
}
