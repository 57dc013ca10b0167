import { ApiError } from './api-error.ts';
import type { Context } from './request-state.ts';

/** What every path serves, as the header Allow names it. */
export const allowedMethods = 'GET, HEAD, OPTIONS';

export const methodNotAllowed = () =>
  new ApiError('method_not_allowed', { headers: { Allow: allowedMethods } });

/** Whether the request asks for the resource. OPTIONS is answered here; any other method is refused. */
export function asksForResource(context: Context): boolean {
  if (context.method === 'GET' || context.method === 'HEAD') return true;
  if (context.method !== 'OPTIONS') throw methodNotAllowed();
  context.set('Allow', allowedMethods);
  context.status = 204;
  return false;
}
