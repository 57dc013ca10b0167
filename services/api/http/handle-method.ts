import { ApiError } from './api-error.ts';
import type { Context } from './context.ts';
import { allowedMethods } from './methods.ts';

export const methodNotAllowed = () =>
  new ApiError('method_not_allowed', { headers: { Allow: allowedMethods } });

/** Returns true for GET and HEAD. Answers OPTIONS and returns false; throws 405 for any other method. */
export function handleMethod(context: Context): boolean {
  if (context.method === 'GET' || context.method === 'HEAD') return true;
  if (context.method !== 'OPTIONS') throw methodNotAllowed();
  context.set('Allow', allowedMethods);
  context.status = 204;
  return false;
}
