import { LRUCache } from 'lru-cache';
import type { RateLimit, RateLimitUsage } from './rate-limiter.ts';

/** Keys with a window. Beyond this number the least recently used key starts a new window. */
const keysMax = 50_000;

/** A `RateLimiter` that answers synchronously. */
export type MemoryRateLimiter = { consume: (key: string) => RateLimitUsage };

/**
 * Counts in this process. It keeps the instants of the counted requests, 8 bytes each, at most `requests` per key, and
 * frees windows that have passed. N replicas together admit up to N times the limit.
 */
export function createMemoryRateLimiter({
  limit: { requests, windowSeconds },
  nowMs,
}: {
  limit: RateLimit;
  nowMs: () => number;
}): MemoryRateLimiter {
  const windowMs = windowSeconds * 1_000;
  const windows = new LRUCache<string, number[]>({
    max: keysMax,
    ttl: windowMs,
    ttlResolution: 0,
    perf: { now: nowMs },
  });
  let purgedMs = nowMs();

  const windowOf = (key: string, atMs: number): number[] => {
    const instants = windows.get(key) ?? [];
    const firstInside = instants.findIndex((instant) => instant > atMs - windowMs);
    instants.splice(0, firstInside === -1 ? instants.length : firstInside);
    return instants;
  };
  const usage = (admitted: boolean, instants: number[], atMs: number): RateLimitUsage => ({
    admitted,
    remaining: requests - instants.length,
    // Subtracts first: adding the window to a large instant would round, and could exceed the window.
    resetMs: instants[0] === undefined ? 0 : windowMs - (atMs - instants[0]),
  });

  return {
    consume: (key) => {
      const atMs = nowMs();
      if (atMs - purgedMs >= windowMs) {
        windows.purgeStale();
        purgedMs = atMs;
      }
      const instants = windowOf(key, atMs);
      const admitted = instants.length < requests;
      if (admitted) instants.push(atMs);
      windows.set(key, instants);
      return usage(admitted, instants, atMs);
    },
  };
}
