import { type Bounds, defaultBounds } from '../bounds.ts';
import type { ApiConfig } from '../config.ts';
import type { RateLimit } from './rate-limiter.ts';
import type { RateLimitStore } from './redis-rate-limiter.ts';

/** The limit of each key without one of its own. */
export const rateLimitOf = (config: ApiConfig, { windowSeconds } = defaultBounds): RateLimit => ({
  requests: config.RATE_LIMIT_REQUESTS,
  windowSeconds,
});

/** The store that counts for all replicas; null if each replica counts for itself. */
export const rateLimitStoreOf = (
  config: ApiConfig,
  { countTimeoutMs } = defaultBounds,
): RateLimitStore | null =>
  config.RATE_LIMIT_STORE_URL === undefined
    ? null
    : { url: config.RATE_LIMIT_STORE_URL, timeoutMs: countTimeoutMs, database: config.DATABASE_NAME };

/** The limit of each client address for requests without a valid key. */
export const authFailureLimitOf = ({ authFailuresMax, windowSeconds }: Bounds): RateLimit => ({
  requests: authFailuresMax,
  windowSeconds,
});
