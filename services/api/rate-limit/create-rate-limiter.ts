import type { Counter } from 'prom-client';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { createFallbackRateLimiter } from './fallback-rate-limiter.ts';
import { createMemoryRateLimiter } from './memory-rate-limiter.ts';
import { connectRedisRateLimiter } from './redis-rate-limiter.ts';
import type { RateLimit, RateLimiter } from './rate-limiter.ts';

/** Counts in memory; with `storeUrl` in that store, with memory as the fallback. Does not wait for the store. */
export function createRateLimiter(
  deps: { nowMs: () => number; logger: Logger; fallbacks: Counter },
  { limit, storeUrl }: { limit: RateLimit; storeUrl: string | undefined },
): RateLimiter & { stop: () => void } {
  const memory = createMemoryRateLimiter({ limit, nowMs: deps.nowMs });
  if (!storeUrl || limit.requests === 0) return { ...memory, stop: () => undefined };
  return createFallbackRateLimiter({
    ...deps,
    memory,
    connect: (onLost) => connectRedisRateLimiter(storeUrl, limit, onLost),
  });
}
