import { ApiError } from '../http/api-error.ts';
import { isHttps, type AddressRange } from '../http/proxy.ts';
import type { Middleware } from '../http/context.ts';

/** A year, the least that browsers' lists ask for. Not of subdomains: they are not ours to speak for. */
export const strictTransportSecurity = 'max-age=31536000';

/**
 * Refuses plain HTTP before anything of the request is looked at: a redirect would have the client send its
 * key in clear every time. `/health` is served on both, for probes inside a cluster. What went over TLS has
 * browsers use nothing else from then on.
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
