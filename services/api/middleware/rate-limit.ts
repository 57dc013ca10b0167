import { ApiError } from '../http/api-error.ts';
import type { Middleware } from '../http/context.ts';
import { retryAfter, wholeSeconds } from '../http/headers.ts';
import type { RateLimit, RateLimiter } from '../rate-limit/rate-limiter.ts';

type RateLimitDeps = { limit: RateLimit; rateLimiter: RateLimiter };

/** Limits each key, and reports its usage in every response. A 304 counts too: it costs the store as much. */
export function rateLimit({ limit, rateLimiter }: RateLimitDeps): Middleware {
  return async (context, next) => {
    const { caller } = context.state;
    if (limit.requests > 0 && caller) {
      const { admitted, remaining, resetMs } = await rateLimiter.consume(caller.keyId);
      context.set({
        'RateLimit-Limit': String(limit.requests),
        'RateLimit-Remaining': String(remaining),
        'RateLimit-Reset': wholeSeconds(resetMs),
        'RateLimit-Policy': `${limit.requests};w=${limit.windowSeconds}`,
      });
      if (!admitted) throw new ApiError('too_many_requests', { headers: retryAfter(resetMs) });
    }
    await next();
  };
}
