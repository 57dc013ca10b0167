import type { Middleware } from '../http/context.ts';
import { newRequestId } from '../http/request-id.ts';

/** The first middleware, because every response has the id, even an error. */
export const requestId: Middleware = (context, next) => {
  context.state.requestId = newRequestId();
  context.state.responseBytes = 0;
  context.set('Request-Id', context.state.requestId);
  return next();
};
