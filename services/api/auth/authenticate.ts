import { ApiError } from '../http/api-error.ts';
import type { Step } from '../http/request-state.ts';
import type { Views } from '../store/view.ts';
import { isToken, tokenShape, type FindCaller } from './api-keys.ts';

/**
 * Admits requests that carry a key of this service in the `Authorization` header. What cannot be a key is
 * refused without asking the store. The view is taken here, before any data is read, and kept for the request.
 */
export function authenticate({
  brand,
  views,
  findCaller,
}: {
  brand: string;
  views: Pick<Views, 'current'>;
  findCaller: FindCaller;
}): Step {
  const shape = tokenShape(brand);
  return async (context, next) => {
    const header = context.req.headers.authorization;
    if (!header?.startsWith('Bearer ')) throw new ApiError('missing_api_key', challenge);
    const token = header.slice('Bearer '.length);
    if (!isToken(shape, token)) throw new ApiError('invalid_api_key', challenge);
    const view = await views.current();
    context.set('Data-As-Of', view.dataAsOf.toISOString());
    const caller = await findCaller(view, token);
    if (!caller) throw new ApiError('invalid_api_key', challenge);
    context.state.view = view;
    context.state.caller = caller;
    await next();
  };
}

const challenge = { headers: { 'WWW-Authenticate': 'Bearer' } };
