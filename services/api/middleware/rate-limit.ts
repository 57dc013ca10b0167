import { ApiError } from '../http/api-error.ts';
import type { Context, Middleware } from '../http/context.ts';
import type { RateLimit, Usage, RateLimiter } from '../rate-limit/rate-limiter.ts';

/** Limits each key, and says on every response how far it is. A 304 counts too: it costs the store as much. */
export function rateLimit({
  limit,
  rateLimiter,
}: {
  limit: RateLimit;
  rateLimiter: RateLimiter;
}): Middleware {
  return async (context, next) => {
    const { caller } = context.state;
    if (limit.requests === 0 || !caller) {
      await next();
      return;
    }
    const usage = await rateLimiter.consume(caller.keyId);
    show(context, limit, usage);
    if (!usage.admitted) throw new ApiError('too_many_requests', { headers: retryAfter(usage) });
    await next();
  };
}

const seconds = ({ resetMs }: Usage) => String(Math.ceil(resetMs / 1_000));

/** Whole seconds after which one more request is admitted. */
export const retryAfter = (usage: Usage) => ({ 'Retry-After': seconds(usage) });

function show(context: Context, limit: RateLimit, usage: Usage): void {
  context.set('RateLimit-Limit', String(limit.requests));
  context.set('RateLimit-Remaining', String(usage.remaining));
  context.set('RateLimit-Reset', seconds(usage));
}
