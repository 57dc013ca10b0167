import { LRUCache } from 'lru-cache';
import type { RateLimit, Usage, RateLimiter } from './rate-limiter.ts';

/** Keys whose windows are remembered; beyond it the least recently used one starts afresh. */
const keysMax = 50_000;

type MemoryRateLimiter = { [Name in keyof RateLimiter]: (key: string) => Usage };

/**
 * Windows of this process: the instants of the requests counted, 8 bytes each, so at most `requests` of them
 * for a key. N replicas together let through up to N times the limit.
 */
export function createMemoryRateLimiter({
  limit: { requests, windowSeconds },
  nowMs,
}: {
  limit: RateLimit;
  /** Never goes back; in milliseconds. */
  nowMs: () => number;
}): MemoryRateLimiter {
  const windowMs = windowSeconds * 1_000;
  const counted = new LRUCache<string, number[]>({ max: keysMax });

  const current = (key: string, atMs: number): number[] => {
    const instants = counted.get(key) ?? [];
    const firstInside = instants.findIndex((instant) => instant > atMs - windowMs);
    instants.splice(0, firstInside === -1 ? instants.length : firstInside);
    return instants;
  };
  const usage = (admitted: boolean, instants: number[], atMs: number): Usage => ({
    admitted,
    remaining: requests - instants.length,
    // The age is taken first: adding the window to a large instant would round, and promise more than a window.
    resetMs: instants[0] === undefined ? 0 : windowMs - (atMs - instants[0]),
  });

  return {
    consume: (key) => {
      const atMs = nowMs();
      const instants = current(key, atMs);
      const admitted = instants.length < requests;
      if (admitted) instants.push(atMs);
      counted.set(key, instants);
      return usage(admitted, instants, atMs);
    },
  };
}
