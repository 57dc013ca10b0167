import { ApiError } from '../http/api-error.ts';
import { strictTransportSecurity } from '../http/headers.ts';
import type { AddressRange } from '../../../shared/runtime/addresses.ts';
import { isHttps } from '../http/proxy.ts';
import type { Middleware } from '../http/context.ts';

/**
 * Refuses plain HTTP before it looks at anything else in the request. A redirect would let the client send its key
 * unencrypted every time. `/health` is served on both, for probes inside a cluster.
 */
export const httpsOnly =
  ({ trustedProxies }: { trustedProxies: AddressRange[] }): Middleware =>
  (context, next) => {
    if (isHttps(trustedProxies, context.req)) {
      context.set('Strict-Transport-Security', strictTransportSecurity);
    } else if (context.path !== '/health') {
      throw new ApiError('https_required');
    }
    return next();
  };
