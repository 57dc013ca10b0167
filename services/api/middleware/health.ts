import { z } from 'zod';
import { handleMethod } from '../http/methods.ts';
import type { Middleware } from '../http/context.ts';

export const healthSchema = z
  .strictObject({ status: z.literal('ok').describe('Always `ok`.') })
  .describe('A sign of life.');

/** `GET /health`: the process answers. It asks nothing of the store; `/readyz` on the admin port does. */
export const health: Middleware = (context, next) => {
  if (context.path !== '/health') return next();
  context.state.route = '/health';
  if (!handleMethod(context)) return undefined;
  context.body = { status: 'ok' };
  return undefined;
};
