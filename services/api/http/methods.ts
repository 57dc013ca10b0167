import { ApiError } from './api-error.ts';
import type { Context } from './context.ts';

/** The methods that every path serves, as in the header `Allow`. */
export const allowedMethods = 'GET, HEAD, OPTIONS';

/** Returns true for GET and HEAD. Answers OPTIONS and returns false; throws 405 for any other method. */
export function handleMethod(context: Context): boolean {
  if (context.method === 'GET' || context.method === 'HEAD') return true;
  if (context.method !== 'OPTIONS') {
    throw new ApiError('method_not_allowed', { headers: { Allow: allowedMethods } });
  }
  context.set('Allow', allowedMethods);
  context.status = 204;
  return false;
}
