import type { Counter } from 'prom-client';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { repeat } from '../../../shared/runtime/repeat.ts';
import { createMemoryRateLimiter } from './memory-rate-limiter.ts';
import type { RateLimit, RateLimiter, RateLimitUsage } from './rate-limiter.ts';
import type { RateLimitStore, RedisRateLimiter } from './redis-rate-limiter.ts';

/** The pause between two attempts to connect to the store. */
const reconnectIntervalMs = 5_000;

/** Counts in `store`, and in memory while the store is unavailable or if `store` is null. */
export function createRateLimiter(
  { nowMs, ...deps }: { nowMs: () => number; logger: Logger; fallbacks: Counter },
  { limit, store }: { limit: RateLimit; store: RateLimitStore | null },
): RateLimiter & { stop: () => void } {
  const memory = createMemoryRateLimiter({ limit, nowMs });
  if (!store) return { ...memory, stop: () => undefined };
  const connect = async (onError: (error: unknown) => void) => {
    // Loaded only here, because its client takes memory, and most services have no such store.
    const { connectRedisRateLimiter } = await import('./redis-rate-limiter.ts');
    return connectRedisRateLimiter(store, limit, onError);
  };
  return createFallbackRateLimiter({ ...deps, memory, connect });
}

type FallbackDeps = {
  connect: (onError: (error: unknown) => void) => Promise<RedisRateLimiter>;
  memory: RateLimiter;
  fallbacks: Counter;
  logger: Logger;
};

/**
 * Counts in a shared store, and in this process while the store is unavailable, so no request fails.
 *
 * A request never connects. A loop connects, with a pause after each attempt. So a store that accepts connections but
 * refuses commands gets few connections, and the log few lines, even if many requests arrive.
 */
export function createFallbackRateLimiter({ connect, memory, fallbacks, logger }: FallbackDeps) {
  let shared: RedisRateLimiter | null = null;
  let isKnownUnavailable = false;
  const dropShared = (error: unknown) => {
    shared?.close();
    shared = null;
    if (!isKnownUnavailable)
      logger.warn({ error }, 'the rate limit store is unavailable: each replica counts for itself');
    isKnownUnavailable = true;
  };
  const connectOnce = async () => {
    if (shared) return;
    // An abandoned connection may still report errors, which do not concern the connection after it.
    let connected: RedisRateLimiter | null = null;
    const onError = (error: unknown) => {
      if (connected && shared === connected) dropShared(error);
    };
    connected = await connect(onError);
    shared = connected;
    isKnownUnavailable = false;
    logger.info('rate limits are shared');
  };
  const connecting = repeat(connectOnce, { intervalMs: reconnectIntervalMs, onError: dropShared });
  return {
    consume: async (key: string, requestsMax?: number): Promise<RateLimitUsage> => {
      const used = shared;
      try {
        if (used) return await used.consume(key, requestsMax);
      } catch (error) {
        // The loop may have replaced the connection while this request waited.
        if (shared === used) dropShared(error);
      }
      fallbacks.inc();
      return memory.consume(key, requestsMax);
    },
    /** Also closes a connection that is being made. */
    stop: () => {
      shared?.close();
      shared = null;
      void connecting.stop().then(() => shared?.close());
    },
  };
}
