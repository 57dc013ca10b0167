import { handleMethod } from '../http/methods.ts';
import type { Middleware } from '../http/context.ts';

/** `GET /health`: the process answers. It does not ask the store; `/readyz` on the admin port does. */
export const health: Middleware = (context, next) => {
  if (context.path !== '/health') return next();
  context.state.route = '/health';
  if (!handleMethod(context)) return undefined;
  context.body = { status: 'ok' };
  return undefined;
};
