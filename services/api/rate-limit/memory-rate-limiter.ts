import type { RateLimit, RateLimitUsage } from './rate-limiter.ts';

/** The maximum of keys with a window. Beyond it, the limiter forgets the least recently used tenth of them. */
const keysMax = 50_000;
const keysKept = keysMax * 0.9;

/** A `RateLimiter` that answers synchronously. */
export type MemoryRateLimiter = { consume: (key: string, requestsMax?: number) => RateLimitUsage };

type MemoryRateLimiterDeps = { limit: RateLimit; nowMs: () => number };

/**
 * Counts in this process, so N replicas together admit up to N times the limit. Keeps the instant of each counted
 * request, 8 bytes, for at most as many requests of a key as its limit, and forgets the windows that have passed.
 */
export function createMemoryRateLimiter({ limit, nowMs }: MemoryRateLimiterDeps): MemoryRateLimiter {
  const windowMs = limit.windowSeconds * 1_000;
  /** The counted instants of each key, the least recently used key first. */
  const windows = new Map<string, number[]>();
  let lastForgetMs = nowMs();
  /**
   * The time until a request at `instant` leaves the window. `instant + windowMs` could lose precision, so this
   * subtracts the instants first.
   */
  const leftMs = (atMs: number, instant: number) => windowMs - (atMs - instant);
  /** Removes the instants that have left the window, which are the first ones. */
  const removePast = (instants: number[], atMs: number) => {
    const firstInside = instants.findIndex((instant) => leftMs(atMs, instant) > 0);
    const pastCount = firstInside === -1 ? instants.length : firstInside;
    instants.splice(0, pastCount);
  };
  /** Forgets windows that have passed, and the least recently used ones if there are too many keys. */
  const forgetOldest = (atMs: number) => {
    for (const [key, instants] of windows) {
      const latest = instants.at(-1);
      const isPast = latest === undefined || leftMs(atMs, latest) <= 0;
      if (!isPast && windows.size <= keysKept) return;
      windows.delete(key);
    }
  };
  return {
    consume: (key, requestsMax = limit.requests) => {
      const atMs = nowMs();
      const instants = windows.get(key) ?? [];
      removePast(instants, atMs);
      const admitted = instants.length < requestsMax;
      if (admitted) instants.push(atMs);
      // The map has the most recently used key last.
      windows.delete(key);
      windows.set(key, instants);
      // Forgets keys in bulk: finding the first key of a Map is slow if many deleted entries precede it.
      if (windows.size > keysMax || atMs - lastForgetMs >= windowMs) {
        lastForgetMs = atMs;
        forgetOldest(atMs);
      }
      const remaining = Math.max(0, requestsMax - instants.length);
      // One more request fits once this instant has left the window: the oldest one. If the key's limit was lowered,
      // more instants than `requestsMax` may remain, and then several must leave before another request fits.
      const lastToLeave = instants[Math.max(0, instants.length - requestsMax)];
      const resetMs = lastToLeave === undefined ? 0 : Math.max(0, leftMs(atMs, lastToLeave));
      return { admitted, remaining, resetMs };
    },
  };
}
