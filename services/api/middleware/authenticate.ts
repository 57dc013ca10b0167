import { clientAddress, type AddressRange } from '../http/proxy.ts';
import { ApiError } from '../http/api-error.ts';
import type { Context, Middleware } from '../http/context.ts';
import { retryAfter } from './rate-limit.ts';
import type { ReadSnapshots } from '../store/read-snapshot.ts';
import { isToken, tokenShape, type ApiKeyCache } from '../auth/api-key-cache.ts';
import type { AuthFailureLimiter } from '../auth/auth-failure-limiter.ts';

/**
 * Admits requests that carry a key of this service in the `Authorization` header. What cannot be a key is
 * refused without asking the store. The view is taken here, before any data is read, and kept for the request.
 *
 * Only tokens that are no key count against their address, once that is known: a guesser locks nobody out
 * who shares the address, and a store that is away costs nobody anything. What guesses cost the store is bounded
 * where tokens are looked up.
 */
export function authenticate({
  brand,
  snapshots,
  apiKeys,
  authFailures,
  trustedProxies,
}: {
  brand: string;
  snapshots: Pick<ReadSnapshots, 'current'>;
  apiKeys: ApiKeyCache;
  authFailures: AuthFailureLimiter;
  trustedProxies: AddressRange[];
}): Middleware {
  const shape = tokenShape(brand);
  const refusal = (context: Context) => {
    const usage = authFailures.consume(clientAddress(trustedProxies, context.req));
    return usage.admitted ? new ApiError('invalid_api_key', challenge) : tooManyFailures(retryAfter(usage));
  };
  return async (context, next) => {
    const header = context.req.headers.authorization;
    if (!header?.startsWith('Bearer ')) throw new ApiError('missing_api_key', challenge);
    const token = header.slice('Bearer '.length);
    if (!isToken(shape, token)) throw refusal(context);
    const snapshot = await snapshots.current();
    context.set('Data-As-Of', snapshot.dataAsOf.toISOString());
    const caller = await apiKeys.find(snapshot, token);
    if (!caller) throw refusal(context);
    context.state.snapshot = snapshot;
    context.state.caller = caller;
    await next();
  };
}

const challenge = { headers: { 'WWW-Authenticate': 'Bearer' } };

const tooManyFailures = (headers: Record<string, string>) =>
  new ApiError('too_many_requests', {
    message:
      'Too many requests from this address had no valid API key; wait as long as the header Retry-After says.',
    headers,
  });
