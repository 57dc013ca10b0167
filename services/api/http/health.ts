import { z } from 'zod';
import { asksForResource } from './methods.ts';
import type { Step } from './request-state.ts';

export const healthSchema = z
  .strictObject({ status: z.literal('ok').describe('Always `ok`.') })
  .describe('A sign of life.');

/** `GET /health`: the process answers. It asks nothing of the store; `/readyz` on the admin port does. */
export const health: Step = (context, next) => {
  if (context.path !== '/health') return next();
  context.state.route = '/health';
  if (!asksForResource(context)) return undefined;
  context.body = { status: 'ok' };
  return undefined;
};
