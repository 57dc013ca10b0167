import type { RateLimit, RateLimitUsage } from './rate-limiter.ts';

/** Keys with a window. Beyond this number the least recently used tenth of them start a new window. */
const keysMax = 50_000;

/** A `RateLimiter` that answers synchronously. */
export type MemoryRateLimiter = { consume: (key: string, requests?: number) => RateLimitUsage };

type MemoryRateLimiterDeps = { limit: RateLimit; nowMs: () => number };

/**
 * Counts in this process. It keeps the instants of the counted requests, 8 bytes each, at most as many per key as its
 * limit, and frees windows that have passed. N replicas together admit up to N times the limit.
 */
export function createMemoryRateLimiter({ limit, nowMs }: MemoryRateLimiterDeps): MemoryRateLimiter {
  const windowMs = limit.windowSeconds * 1_000;
  /** The counted instants of each key, the least recently used key first. */
  const windows = new Map<string, number[]>();
  let purgedMs = nowMs();
  return {
    consume: (key, requests = limit.requests) => {
      const atMs = nowMs();
      // Subtracts first: adding the window to a large instant would round, and could exceed the window.
      const leftMs = (instant = -Infinity) => windowMs - (atMs - instant);
      const instants = windows.get(key) ?? [];
      const firstInside = instants.findIndex((instant) => leftMs(instant) > 0);
      instants.splice(0, firstInside === -1 ? instants.length : firstInside);
      const admitted = instants.length < requests;
      if (admitted) instants.push(atMs);
      windows.delete(key);
      windows.set(key, instants);
      if (windows.size > keysMax || atMs - purgedMs >= windowMs) {
        purgedMs = atMs;
        // Seldom, and many at once: a map passes the gap of each removed key whenever it looks for the first one.
        for (const [oldest, counted] of windows) {
          if (windows.size <= keysMax * 0.9 && leftMs(counted.at(-1)) > 0) break;
          windows.delete(oldest);
        }
      }
      const remaining = Math.max(0, requests - instants.length);
      const next = instants[Math.max(0, instants.length - requests)];
      return { admitted, remaining, resetMs: Math.max(0, leftMs(next)) };
    },
  };
}
