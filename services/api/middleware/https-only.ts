import type { AddressRange } from '../../../shared/runtime/addresses.ts';
import { ApiError } from '../http/api-error.ts';
import type { Middleware } from '../http/context.ts';
import { strictTransportSecurity } from '../http/headers.ts';
import { clientAddress, isHttps } from '../http/proxy.ts';
import type { MemoryRateLimiter } from '../rate-limit/memory-rate-limiter.ts';

type HttpsOnlyDeps = { trustedProxies: AddressRange[]; authFailures: MemoryRateLimiter };

/**
 * Refuses plain HTTP before anything else in the request is read. Does not redirect, because the client would send its
 * key unencrypted every time. Only `/health` is answered over HTTP, for probes inside a cluster.
 */
export const httpsOnly =
  ({ trustedProxies, authFailures }: HttpsOnlyDeps): Middleware =>
  (context, next) => {
    if (isHttps(trustedProxies, context.req)) {
      context.set('Strict-Transport-Security', strictTransportSecurity);
    } else if (context.path !== '/health') {
      // The log names an address that reaches this limit, so the operator finds a proxy missing in `trustedProxies`.
      authFailures.consume(clientAddress(trustedProxies, context.req));
      throw new ApiError('https_required');
    }
    return next();
  };
