import { ApiError } from '../http/api-error.ts';
import type { Context, Middleware } from '../http/context.ts';
import { retryAfter, wholeSeconds } from '../http/headers.ts';
import type { RateLimit, RateLimiter, RateLimitUsage } from '../rate-limit/rate-limiter.ts';

type Deps = { limit: RateLimit; rateLimiter: RateLimiter };

/** Limits each key, and reports its usage in every response. A 304 counts too: it costs the store as much. */
export function rateLimit({ limit, rateLimiter }: Deps): Middleware {
  return async (context, next) => {
    const { caller } = context.state;
    if (limit.requests === 0 || !caller) {
      await next();
      return;
    }
    const usage = await rateLimiter.consume(caller.keyId);
    setHeaders(context, limit, usage);
    if (!usage.admitted) throw new ApiError('too_many_requests', { headers: retryAfter(usage.resetMs) });
    await next();
  };
}

function setHeaders(context: Context, limit: RateLimit, usage: RateLimitUsage): void {
  context.set('RateLimit-Limit', String(limit.requests));
  context.set('RateLimit-Remaining', String(usage.remaining));
  context.set('RateLimit-Reset', wholeSeconds(usage.resetMs));
  context.set('RateLimit-Policy', `${limit.requests};w=${limit.windowSeconds}`);
}
