import type { Gauge, Histogram } from 'prom-client';
import type { Logger } from '../../../shared/runtime/logger.ts';
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
    inFlight.inc();
    context.res.once('close', () => {
      inFlight.dec();
      const ms = performance.now() - startedMs;
      const { requestId, route, caller, failure } = context.state;
      const { method } = context;
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
      };
      if (status >= 500) logger.error(line, 'request');
      else logger.info(line, 'request');
    });
    return next();
  };
