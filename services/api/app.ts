import Koa from 'koa';
import type { Logger } from '../../shared/runtime/logger.ts';
import type { Callers } from './auth/api-keys.ts';
import { authenticate } from './auth/authenticate.ts';
import type { FailureGuard } from './auth/failure-guard.ts';
import { serveDocs } from './docs/serve.ts';
import { admission } from './http/admission.ts';
import { compression } from './http/compression.ts';
import { dispatch } from './http/dispatch.ts';
import type { DocsLocation } from './http/error-envelope.ts';
import { errorResponses } from './http/error-responses.ts';
import { health } from './http/health.ts';
import { httpsOnly } from './http/https-only.ts';
import type { Metrics } from './http/metrics.ts';
import type { AddressRange } from './http/origin.ts';
import { requestId } from './http/request-id.ts';
import { requestLog } from './http/request-log.ts';
import type { RequestState } from './http/request-state.ts';
import { responseHeaders } from './http/response-headers.ts';
import type { Route } from './http/route.ts';
import { wellFormed } from './http/well-formed.ts';
import type { OpenApiDocument } from './openapi/openapi.ts';
import { serveDocument } from './openapi/serve.ts';
import { rateLimit } from './rate-limit/rate-limit.ts';
import type { RateLimit, Windows } from './rate-limit/windows.ts';
import type { OpenReader } from './store/reader.ts';
import type { Views } from './store/view.ts';
import { traceRequests } from './traces/trace-requests.ts';
import type { Trace } from './traces/tracer.ts';

export type AppDeps = {
  routes: Route[];
  views: Views;
  callers: Callers;
  failures: FailureGuard;
  limit: RateLimit;
  /** Requests with a valid key that may be under way at once. */
  requestsMax: number;
  openReader: OpenReader;
  windows: Windows;
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
  app.use(wellFormed);
  app.use(health);
  app.use(serveDocument(deps));
  app.use(serveDocs(deps));
  app.use(authenticate(deps));
  app.use(rateLimit(deps));
  app.use(admission({ ...deps, ...metrics }));
  app.use(dispatch(deps));
  // What is left by now is a body that broke off: the client has gone, or the store failed half-way.
  app.on('error', (error: Error & { code?: string }) => {
    if (error.code === 'ERR_STREAM_PREMATURE_CLOSE' || error.code === 'ECONNRESET') return;
    logger.error({ error }, 'a response broke off');
  });
  return app;
}
