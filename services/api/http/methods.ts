import { ApiError } from './api-error.ts';
import type { Context } from './context.ts';

/** What every path serves, as the header Allow names it. */
export const allowedMethods = 'GET, HEAD, OPTIONS';

/** The methods of RFC 9110 and PATCH. */
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

/** A method as metrics, logs and traces show it. Over HTTP/2 a client may send any word as the method. */
export const shownMethod = (method: string): string => (knownMethods.has(method) ? method : 'other');

export const methodNotAllowed = () =>
  new ApiError('method_not_allowed', { headers: { Allow: allowedMethods } });

/** Whether the request asks for the resource. OPTIONS is answered here; any other method is refused. */
export function handleMethod(context: Context): boolean {
  if (context.method === 'GET' || context.method === 'HEAD') return true;
  if (context.method !== 'OPTIONS') throw methodNotAllowed();
  context.set('Allow', allowedMethods);
  context.status = 204;
  return false;
}
