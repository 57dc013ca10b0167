import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';
import type { Counter } from 'prom-client';
import { ApiError } from './api-error.ts';
import type { Step } from './request-state.ts';

const retryAfterSeconds = 1;

/**
 * Bounds the requests of all clients that are being read and answered, with what each of them holds: a page, or
 * a cursor of the store. One is under way until its client has taken the answer; beyond the bound it is 503.
 * It stands behind the key and its rate limit, so that those who have no key cannot use it up.
 */
export function admission({
  requestsMax,
  requestsRefused,
}: {
  requestsMax: number;
  requestsRefused: Counter;
}): Step {
  let underWay = 0;
  return (context, next) => {
    if (underWay >= requestsMax) {
      requestsRefused.inc();
      throw new ApiError('service_unavailable', {
        message: 'More requests are under way than can be served at once; try again shortly.',
        headers: { 'Retry-After': String(retryAfterSeconds) },
      });
    }
    const response = context.res as ServerResponse | Http2ServerResponse;
    // The client has left meanwhile, and its end has been announced already.
    if ('stream' in response ? response.stream.destroyed : response.closed) return undefined;
    underWay += 1;
    response.once('close', () => (underWay -= 1));
    return next();
  };
}
