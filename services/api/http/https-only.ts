import { ApiError } from './api-error.ts';
import { isHttps, type AddressRange } from './origin.ts';
import type { Step } from './request-state.ts';

/**
 * Refuses plain HTTP before anything of the request is looked at: a redirect would have the client send its
 * key in clear every time. `/health` is served on both, for probes inside a cluster.
 */
export const httpsOnly =
  ({ trustedProxies }: { trustedProxies: AddressRange[] }): Step =>
  (context, next) => {
    if (context.path !== '/health' && !isHttps(trustedProxies, context.req)) {
      throw new ApiError('https_required');
    }
    return next();
  };
