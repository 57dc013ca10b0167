import { ApiError } from './api-error.ts';
import type { Context } from './context.ts';

const servedMethods = ['GET', 'HEAD', 'OPTIONS'];

/** The methods that every path serves, as in the `Allow` header. */
export const allowedMethods = servedMethods.join(', ');

/** The label of a method in metrics: any client may send each of the thirty methods that Node's parser knows. */
export const methodLabel = (method: string): string => (servedMethods.includes(method) ? method : 'other');

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
