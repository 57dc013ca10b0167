import { z } from 'zod';
import { ApiError } from './api-error.ts';
import type { Step } from './request-state.ts';

export const allowedMethods = 'GET, HEAD, OPTIONS';

export const healthSchema = z
  .strictObject({ status: z.literal('ok').describe('Always `ok`.') })
  .describe('A sign of life.');

/** `GET /health`: the process answers. It asks nothing of the store; `/readyz` on the admin port does. */
export const health: Step = (context, next) => {
  if (context.path !== '/health') return next();
  context.state.route = '/health';
  if (context.method === 'OPTIONS') {
    context.set('Allow', allowedMethods);
    context.status = 204;
    return undefined;
  }
  if (context.method !== 'GET' && context.method !== 'HEAD') {
    throw new ApiError('method_not_allowed', { headers: { Allow: allowedMethods } });
  }
  context.body = { status: 'ok' };
  return undefined;
};
