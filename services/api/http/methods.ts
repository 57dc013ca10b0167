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
