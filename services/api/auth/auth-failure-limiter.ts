import { createMemoryRateLimiter } from '../rate-limit/memory-rate-limiter.ts';
import type { RateLimit, Usage } from '../rate-limit/rate-limiter.ts';

/** Limits what each client address may get wrong. */
export type AuthFailureLimiter = { consume: (address: string) => Usage };

const unguarded: Usage = { admitted: true, remaining: 0, resetMs: 0 };

/** In this process alone. An address beyond the limit is told to wait, unless it sends a valid key. */
export const createAuthFailureLimiter = (deps: {
  limit: RateLimit;
  nowMs: () => number;
}): AuthFailureLimiter =>
  deps.limit.requests === 0 ? { consume: () => unguarded } : createMemoryRateLimiter(deps);
