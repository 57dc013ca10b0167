import type { AddressRange } from '../../../shared/runtime/addresses.ts';
import { ApiError } from '../http/api-error.ts';
import type { Middleware } from '../http/context.ts';
import { strictTransportSecurity } from '../http/headers.ts';
import { clientAddress, isHttps } from '../http/proxy.ts';
import type { MemoryRateLimiter } from '../rate-limit/memory-rate-limiter.ts';

type HttpsOnlyDeps = { trustedProxies: AddressRange[]; authFailures: MemoryRateLimiter };

/**
 * Refuses plain HTTP before it looks at anything else in the request. A redirect would let the client send its key
 * unencrypted every time. Without its own certificate the API still serves `/health` over HTTP, for probes inside a
 * cluster. A refusal counts against the client address, and the log line of the address shows the operator an untrusted
 * proxy.
 */
export const httpsOnly =
  ({ trustedProxies, authFailures }: HttpsOnlyDeps): Middleware =>
  (context, next) => {
    if (isHttps(trustedProxies, context.req)) {
      context.set('Strict-Transport-Security', strictTransportSecurity);
    } else if (context.path !== '/health') {
      authFailures.consume(clientAddress(trustedProxies, context.req));
      throw new ApiError('https_required');
    }
    return next();
  };
