import type { Gauge, Histogram } from 'prom-client';
import { spanIds } from '../../../shared/runtime/telemetry.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { methodLabel } from '../http/methods.ts';
import type { Middleware } from '../http/context.ts';

type Deps = { logger: Logger; durations: Histogram<'method' | 'route' | 'status'>; inFlight: Gauge };

/**
 * Writes one log line and one metric observation per request, when its response has been sent or interrupted. Paths and
 * queries are not logged, because they contain customers' ids and cursors; headers are never logged.
 */
export const accessLog =
  ({ logger, durations, inFlight }: Deps): Middleware =>
  (context, next) => {
    const startedMs = performance.now();
    // The listener below runs outside of the request's span.
    const ids = spanIds();
    inFlight.inc();
    context.res.once('close', () => {
      inFlight.dec();
      const ms = performance.now() - startedMs;
      const { requestId, route, caller, failure } = context.state;
      const method = methodLabel(context.method);
      const status = context.res.statusCode;
      durations.observe({ method, route: route ?? 'none', status: String(status) }, ms / 1_000);
      const line = {
        requestId,
        method,
        route,
        status,
        ms: Math.round(ms * 10) / 10,
        keyId: caller?.keyId,
        orgId: caller?.orgId,
        ...(context.res.writableFinished ? {} : { aborted: true }),
        ...(failure ? { error: failure } : {}),
        ...ids,
      };
      if (status >= 500) logger.error(line, 'request');
      else logger.info(line, 'request');
    });
    return next();
  };
