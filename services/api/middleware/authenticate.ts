import type { Counter } from 'prom-client';
import type { TokenRefusal } from '../../../shared/keys/token-keys.ts';
import type { AddressRange } from '../../../shared/runtime/addresses.ts';
import type { Counts } from '../counts.ts';
import { clientAddress } from '../http/proxy.ts';
import { ApiError } from '../http/api-error.ts';
import type { Context, Middleware } from '../http/context.ts';
import { retryAfter } from '../http/headers.ts';
import type { RequireCollections } from '../store/collection-check.ts';
import type { ReadSnapshots } from '../store/read-snapshot.ts';
import { StoreUnavailable } from '../store/store-errors.ts';
import { isCaller, isToken, tokenShape, type ApiKeyCache } from '../auth/api-key-cache.ts';
import type { MemoryRateLimiter } from '../rate-limit/memory-rate-limiter.ts';

/**
 * Admits requests with a valid API key in the `Authorization` header. A token of the wrong shape is refused without
 * asking the store. The read snapshot is taken here, before any data is read, and serves the whole request.
 *
 * Missing and invalid tokens count against the client address, and above its limit invalid ones are refused. So a client
 * that guesses keys locks out no other client of its address, one that forgets its key learns so, and an unavailable store
 * counts against no client. The key cache limits the cost of guesses for the store.
 */
export function authenticate(deps: {
  keyPrefix: string;
  snapshots: Pick<ReadSnapshots, 'current'>;
  generationsInUse: Pick<Counts<number>, 'begin'>;
  requireCollections: RequireCollections;
  apiKeys: ApiKeyCache;
  authFailures: MemoryRateLimiter;
  authFailuresCounted: Counter<'reason'>;
  trustedProxies: AddressRange[];
}): Middleware {
  const shape = tokenShape(deps.keyPrefix);
  const count = ({ req }: Context, reason: 'missing' | 'malformed' | TokenRefusal) => {
    deps.authFailuresCounted.inc({ reason });
    return deps.authFailures.consume(clientAddress(deps.trustedProxies, req));
  };
  const refusal = (context: Context, reason: 'malformed' | TokenRefusal) => {
    const usage = count(context, reason);
    return usage.admitted ? new ApiError('invalid_api_key', challenge) : tooManyFailures(usage.resetMs);
  };
  return async (context, next) => {
    const header = context.req.headers.authorization;
    if (!header?.startsWith('Bearer ')) {
      count(context, 'missing');
      throw new ApiError('missing_api_key', challenge);
    }
    const token = header.slice('Bearer '.length);
    if (!isToken(shape, token)) throw refusal(context, 'malformed');
    const snapshot = await deps.snapshots.current();
    if (context.res.closed) return;
    context.res.once('close', deps.generationsInUse.begin(snapshot.generation));
    context.set('Data-As-Of', snapshot.dataAsOf.toISOString());
    const caller = await deps.apiKeys.find(snapshot, token);
    if (!isCaller(caller)) {
      // The keys of a collection that was dropped read as unknown.
      await deps.requireCollections(snapshot);
      if (snapshot.dataAsOf.getTime() === 0)
        throw new StoreUnavailable('the key is unknown, but not every key is loaded yet');
      throw refusal(context, caller);
    }
    context.state.snapshot = snapshot;
    context.state.caller = caller;
    await next();
  };
}

const challenge = { headers: { 'WWW-Authenticate': 'Bearer' } };

const tooManyFailures = (resetMs: number) =>
  new ApiError('too_many_requests', {
    message:
      'Too many requests from this address had no valid API key; wait as long as the header Retry-After says.',
    headers: retryAfter(resetMs),
  });
