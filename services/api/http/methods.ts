import { ApiError } from './api-error.ts';
import type { Context } from './context.ts';

/** The methods that every path serves, as in the header `Allow`. */
export const allowedMethods = 'GET, HEAD, OPTIONS';

/** The methods of RFC 9110, and PATCH. */
const knownMethods = new Set([
  'GET',
  'HEAD',
  'OPTIONS',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'CONNECT',
  'TRACE',
]);

/** The label of a method in metrics, logs and traces. Over HTTP/2 a client may send any word as the method. */
export const methodLabel = (method: string): string => (knownMethods.has(method) ? method : 'other');

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
