import type { RequestState, Middleware } from '../http/context.ts';
import { newRequestId } from '../http/request-id.ts';

/** Comes first, so that every response carries the id, whatever happens next. */
export const requestId: Middleware = (context, next) => {
  const id = newRequestId();
  const state: RequestState = {
    requestId: id,
    caller: null,
    snapshot: null,
    store: null,
    responseBytes: 0,
    route: null,
    pathId: undefined,
    errorCode: null,
    failure: null,
  };
  Object.assign(context.state, state);
  context.set('Request-Id', id);
  return next();
};
