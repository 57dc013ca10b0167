import { ApiError } from '../http/api-error.ts';
import type { Middleware } from '../http/context.ts';
import { retryAfter, wholeSeconds } from '../http/headers.ts';
import type { RateLimit, RateLimiter } from '../rate-limit/rate-limiter.ts';

type RateLimitDeps = { limit: RateLimit; rateLimiter: RateLimiter };

/**
 * Limits the requests of each key, by the key's own limit or else by the service's limit. Each response has the limit
 * and the remaining requests in its headers. A 304 counts too, because it costs MongoDB as much as a 200.
 */
export function rateLimit({ limit, rateLimiter }: RateLimitDeps): Middleware {
  return async (context, next) => {
    const { caller } = context.state;
    const requests = caller?.rateLimit ?? limit.requests;
    if (requests > 0 && caller) {
      const { admitted, remaining, resetMs } = await rateLimiter.consume(caller.keyId, requests);
      context.set({
        'RateLimit-Limit': String(requests),
        'RateLimit-Remaining': String(remaining),
        'RateLimit-Reset': wholeSeconds(resetMs),
        'RateLimit-Policy': `${requests};w=${limit.windowSeconds}`,
      });
      if (!admitted) throw new ApiError('too_many_requests', { headers: retryAfter(resetMs) });
    }
    await next();
  };
}
