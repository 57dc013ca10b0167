import { clientAddress, type AddressRange } from '../http/origin.ts';
import { ApiError } from '../http/api-error.ts';
import type { Step } from '../http/request-state.ts';
import { retryAfter } from '../rate-limit/rate-limit.ts';
import type { Views } from '../store/view.ts';
import { isToken, tokenShape, type Callers } from './api-keys.ts';
import type { FailureGuard } from './failure-guard.ts';

/**
 * Admits requests that carry a key of this service in the `Authorization` header. What cannot be a key is
 * refused without asking the store. The view is taken here, before any data is read, and kept for the request.
 *
 * A token that has not been found before counts against its address until it is found, so that even many at
 * once ask the store no more often than the guard allows. Keys that this replica has found pass: those who
 * share an address with a guesser go on undisturbed, and who could name one needs not guess.
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
  return async (context, next) => {
    const header = context.req.headers.authorization;
    if (!header?.startsWith('Bearer ')) throw new ApiError('missing_api_key', challenge);
    const token = header.slice('Bearer '.length);
    const isNew = !callers.hasFound(token);
    const address = clientAddress(trustedProxies, context.req);
    if (isNew) {
      const usage = failures.take(address);
      if (!usage.admitted) throw tooManyFailures(retryAfter(usage));
    }
    if (!isToken(shape, token)) throw new ApiError('invalid_api_key', challenge);
    const view = await views.current();
    context.set('Data-As-Of', view.dataAsOf.toISOString());
    const caller = await callers.find(view, token);
    if (!caller) throw new ApiError('invalid_api_key', challenge);
    if (isNew) failures.giveBack(address);
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
