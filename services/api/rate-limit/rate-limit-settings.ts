import type { ApiConfig } from '../config.ts';
import type { RateLimit } from './rate-limiter.ts';
import type { RateLimitStore } from './redis-rate-limiter.ts';

/** The limit of each key without one of its own. */
export const rateLimitOf = (config: ApiConfig): RateLimit => ({
  requests: config.RATE_LIMIT_REQUESTS,
  windowSeconds: config.RATE_LIMIT_WINDOW_SECONDS,
});

/** The store that counts for all replicas; null if each replica counts for itself. */
export const rateLimitStoreOf = (config: ApiConfig): RateLimitStore | null =>
  config.RATE_LIMIT_STORE_URL === undefined
    ? null
    : {
        url: config.RATE_LIMIT_STORE_URL,
        timeoutMs: config.RATE_LIMIT_STORE_TIMEOUT_MS,
        database: config.DATABASE_NAME,
      };

/** The limit of each client address for requests without a valid key, in windows of the same length. */
export const authFailureLimitOf = (config: ApiConfig): RateLimit => ({
  requests: config.AUTH_FAILURE_LIMIT,
  windowSeconds: config.RATE_LIMIT_WINDOW_SECONDS,
});
