import type { Logger } from '../../../shared/runtime/logger.ts';
import { createMemoryRateLimiter, type MemoryRateLimiter } from '../rate-limit/memory-rate-limiter.ts';
import type { RateLimit } from '../rate-limit/rate-limiter.ts';

type AuthFailureLimiterDeps = { limit: RateLimit; nowMs: () => number; logger: Logger };

/**
 * Counts, in this process only, the requests of each client address without a valid key or over plain HTTP. Above
 * the limit, `createRefuseKey` answers an invalid key of the address with 429; a valid key still passes. The log names
 * the address once in each window, so an operator can block it.
 */
export function createAuthFailureLimiter({
  limit,
  nowMs,
  logger,
}: AuthFailureLimiterDeps): MemoryRateLimiter {
  const failures = createMemoryRateLimiter({ limit, nowMs });
  const warnings = createMemoryRateLimiter({ limit: { ...limit, requests: 1 }, nowMs });
  return {
    consume: (address) => {
      const usage = failures.consume(address);
      if (!usage.admitted && warnings.consume(address).admitted)
        logger.warn({ address }, 'an address has reached the limit of requests without a valid key');
      return usage;
    },
  };
}
