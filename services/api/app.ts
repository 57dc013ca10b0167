import Koa from 'koa';
import type { Logger } from '../../shared/runtime/logger.ts';
import type { ApiKeyCache } from './auth/api-key-cache.ts';
import { authenticate } from './middleware/authenticate.ts';
import type { AuthFailureLimiter } from './auth/auth-failure-limiter.ts';
import { serveDocs } from './middleware/serve-docs.ts';
import { concurrencyLimit } from './middleware/concurrency-limit.ts';
import { compression } from './middleware/compression.ts';
import { dispatch } from './http/dispatch.ts';
import type { DocsLocation } from './http/error-envelope.ts';
import { errorResponses } from './middleware/error-handler.ts';
import { health } from './middleware/health.ts';
import { httpsOnly } from './middleware/https-only.ts';
import type { Metrics } from './metrics.ts';
import type { AddressRange } from './http/proxy.ts';
import { requestId } from './middleware/request-id.ts';
import { requestLog } from './middleware/access-log.ts';
import type { RequestState } from './http/context.ts';
import { responseHeaders } from './middleware/response-headers.ts';
import type { Route } from './http/route.ts';
import { requestLimits } from './middleware/request-limits.ts';
import type { OpenApiDocument } from './openapi/types.ts';
import { serveSpec } from './middleware/serve-openapi.ts';
import { rateLimit } from './middleware/rate-limit.ts';
import type { RateLimit, RateLimiter } from './rate-limit/rate-limiter.ts';
import type { OpenReader } from './store/reader.ts';
import type { ReadSnapshots } from './store/read-snapshot.ts';
import { traceRequests } from './middleware/trace-requests.ts';
import type { Trace } from './traces/tracer.ts';

export type AppDeps = {
  routes: Route[];
  snapshots: ReadSnapshots;
  apiKeys: ApiKeyCache;
  authFailures: AuthFailureLimiter;
  limit: RateLimit;
  /** Requests with a valid key that may be under way at once. */
  requestsMax: number;
  openReader: OpenReader;
  rateLimiter: RateLimiter;
  docs: DocsLocation;
  trustedProxies: AddressRange[];
  brand: string;
  document: OpenApiDocument;
  metrics: Metrics;
  /** Null where requests are not traced. */
  trace: Trace | null;
  logger: Logger;
};

/** What a request passes through, from the outside in. */
export function createApp({ metrics, logger, trace, ...deps }: AppDeps): Koa<RequestState> {
  const app = new Koa<RequestState>();
  app.use((context, next) => {
    // Our steps and the streams of a body each wait for the response to end: more than Node's ten at times.
    context.res.setMaxListeners(20);
    return next();
  });
  app.use(requestId);
  if (trace) app.use(traceRequests({ trace }));
  app.use(requestLog({ logger, ...metrics }));
  app.use(responseHeaders(deps));
  app.use(compression);
  app.use(errorResponses({ ...deps, storeErrors: metrics.storeErrors }));
  app.use(httpsOnly(deps));
  app.use(requestLimits);
  app.use(health);
  app.use(serveSpec(deps));
  app.use(serveDocs(deps));
  app.use(authenticate(deps));
  app.use(rateLimit(deps));
  app.use(concurrencyLimit({ ...deps, ...metrics }));
  app.use(dispatch(deps));
  // What is left by now is a body that broke off: the client has gone, or the store failed half-way.
  app.on('error', (error: Error & { code?: string }) => {
    if (error.code === 'ERR_STREAM_PREMATURE_CLOSE' || error.code === 'ECONNRESET') return;
    logger.error({ error }, 'a response broke off');
  });
  return app;
}
