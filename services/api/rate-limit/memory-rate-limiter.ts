import type { RateLimit, RateLimitUsage } from './rate-limiter.ts';

/** The maximum of keys with a window. Beyond it, the limiter forgets the least recently used tenth of them. */
const keysMax = 50_000;

/** A `RateLimiter` that answers synchronously. */
export type MemoryRateLimiter = { consume: (key: string, requests?: number) => RateLimitUsage };

type MemoryRateLimiterDeps = { limit: RateLimit; nowMs: () => number };

/**
 * Counts in this process, so N replicas together admit up to N times the limit. Keeps the instant of each counted
 * request, 8 bytes, for at most as many requests of a key as its limit, and forgets the windows that have passed.
 */
export function createMemoryRateLimiter({ limit, nowMs }: MemoryRateLimiterDeps): MemoryRateLimiter {
  const windowMs = limit.windowSeconds * 1_000;
  /** The counted instants of each key, the least recently used key first. */
  const windows = new Map<string, number[]>();
  let forgottenMs = nowMs();
  /**
   * The time until a request at `instant` leaves the window; negative without one. `instant + windowMs` could lose
   * precision, so this subtracts the instants first.
   */
  const leftMs = (atMs: number, instant = -Infinity) => windowMs - (atMs - instant);
  /** Forgets windows that have passed, and the least recently used ones if there are too many keys. */
  const forgetOldest = (atMs: number) => {
    for (const [key, instants] of windows) {
      if (windows.size <= keysMax * 0.9 && leftMs(atMs, instants.at(-1)) > 0) return;
      windows.delete(key);
    }
  };
  return {
    consume: (key, requests = limit.requests) => {
      const atMs = nowMs();
      const instants = windows.get(key) ?? [];
      const firstInside = instants.findIndex((instant) => leftMs(atMs, instant) > 0);
      instants.splice(0, firstInside === -1 ? instants.length : firstInside);
      const admitted = instants.length < requests;
      if (admitted) instants.push(atMs);
      // The map has the most recently used key last.
      windows.delete(key);
      windows.set(key, instants);
      // Forgets keys in bulk: finding the first key of a Map is slow if many deleted entries precede it.
      if (windows.size > keysMax || atMs - forgottenMs >= windowMs) {
        forgottenMs = atMs;
        forgetOldest(atMs);
      }
      const remaining = Math.max(0, requests - instants.length);
      // One more request fits once this one has left the window. If the key's limit was lowered, more instants than
      // `requests` may remain, and several have to leave before.
      const nextToLeave = instants[Math.max(0, instants.length - requests)];
      return { admitted, remaining, resetMs: Math.max(0, leftMs(atMs, nextToLeave)) };
    },
  };
}
