import { clientAddress, type AddressRange } from '../http/origin.ts';
import { ApiError } from '../http/api-error.ts';
import type { Context, Step } from '../http/request-state.ts';
import { retryAfter } from '../rate-limit/rate-limit.ts';
import type { Views } from '../store/view.ts';
import { isToken, tokenShape, type Callers } from './api-keys.ts';
import type { FailureGuard } from './failure-guard.ts';

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
  views,
  callers,
  failures,
  trustedProxies,
}: {
  brand: string;
  views: Pick<Views, 'current'>;
  callers: Callers;
  failures: FailureGuard;
  trustedProxies: AddressRange[];
}): Step {
  const shape = tokenShape(brand);
  const refusal = (context: Context) => {
    const usage = failures.take(clientAddress(trustedProxies, context.req));
    return usage.admitted ? new ApiError('invalid_api_key', challenge) : tooManyFailures(retryAfter(usage));
  };
  return async (context, next) => {
    const header = context.req.headers.authorization;
    if (!header?.startsWith('Bearer ')) throw new ApiError('missing_api_key', challenge);
    const token = header.slice('Bearer '.length);
    if (!isToken(shape, token)) throw refusal(context);
    const view = await views.current();
    context.set('Data-As-Of', view.dataAsOf.toISOString());
    const caller = await callers.find(view, token);
    if (!caller) throw refusal(context);
    context.state.view = view;
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
