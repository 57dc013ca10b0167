import { createMemoryRateLimiter, type MemoryRateLimiter } from '../rate-limit/memory-rate-limiter.ts';
import type { RateLimit, RateLimitUsage } from '../rate-limit/rate-limiter.ts';

/** Limits the invalid keys that each client address may try. */
export type AuthFailureLimiter = MemoryRateLimiter;

const unlimited: RateLimitUsage = { admitted: true, remaining: 0, resetMs: 0 };

/** Counts in this process only. Above the limit an address is refused, unless it sends a valid key. */
export const createAuthFailureLimiter = (deps: {
  limit: RateLimit;
  nowMs: () => number;
}): AuthFailureLimiter =>
  deps.limit.requests === 0 ? { consume: () => unlimited } : createMemoryRateLimiter(deps);
