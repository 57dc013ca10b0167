import { createClient } from '@redis/client';
import { withDeadline } from '../store/deadline.ts';
import { slidingLog } from './sliding-log.ts';
import type { RateLimit, RateLimiter } from './rate-limiter.ts';

/** The store's address, and how long a request waits for it before it falls back to memory, in milliseconds. */
export type RateLimitStore = { url: string; timeoutMs: number };

/** A connection to the shared store. Once it has failed or been closed, it is not used again. */
export type RedisRateLimiter = RateLimiter & { close: () => void };

const connectTimeoutMs = 2_000;

/** Counted at each connection, to learn whether the store accepts the script. No key of a client is empty. */
const probeKey = '';

/**
 * Connects to Redis or Valkey. Rejects if the store refuses the script, for example because it is a replica or its user
 * lacks the right. `onLost` is called at most once, when the connection breaks; `close` does not call it.
 */
export async function connectRedisRateLimiter(
  { url, timeoutMs }: RateLimitStore,
  { requests, windowSeconds }: RateLimit,
  onLost: (error: Error) => void,
): Promise<RedisRateLimiter> {
  const client = createClient({
    url,
    disableOfflineQueue: true,
    scripts: { slidingLog },
    socket: { connectTimeout: connectTimeoutMs, reconnectStrategy: false },
  });
  const close = () => {
    client.removeAllListeners().on('error', () => undefined);
    if (client.isOpen) client.destroy();
  };
  // Without a listener an `error` event would end the process; the first error also rejects `connect`.
  client.on('error', () => undefined);
  const consume = async (key: string) => {
    const counting = client.slidingLog(`rate:${key}`, windowSeconds, requests);
    const { used, resetMs } = await withDeadline(counting, timeoutMs);
    return { admitted: used <= requests, remaining: Math.max(0, requests - used), resetMs };
  };
  try {
    await withDeadline(client.connect(), connectTimeoutMs);
    await consume(probeKey);
  } catch (error) {
    close();
    throw error;
  }
  client.once('error', (error: Error) => {
    close();
    onLost(error);
  });
  return { consume, close };
}
