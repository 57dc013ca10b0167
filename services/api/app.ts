import Koa from 'koa';
import type { AddressRange } from '../../shared/runtime/addresses.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import type { ApiKeyCache } from './auth/api-key-cache.ts';
import type { RefuseKey } from './auth/refuse-key.ts';
import type { Counts } from './counts.ts';
import type { RequestState } from './http/context.ts';
import { dispatch } from './http/dispatch.ts';
import type { BaseUrl } from './http/error-envelope.ts';
import type { Route } from './http/route.ts';
import type { Metrics } from './metrics.ts';
import { accessLog } from './middleware/access-log.ts';
import { authenticate } from './middleware/authenticate.ts';
import { compression, zlibEncoders } from './middleware/compression.ts';
import { concurrencyLimit } from './middleware/concurrency-limit.ts';
import { errorHandler } from './middleware/error-handler.ts';
import { httpsOnly } from './middleware/https-only.ts';
import { pinSnapshot } from './middleware/pin-snapshot.ts';
import { servePublic } from './middleware/public-paths.ts';
import { rateLimit } from './middleware/rate-limit.ts';
import { requestId } from './middleware/request-id.ts';
import { requestLimits } from './middleware/request-limits.ts';
import { requestReader } from './middleware/request-reader.ts';
import { requireToken } from './middleware/require-token.ts';
import { responseHeaders } from './middleware/response-headers.ts';
import type { OpenApiDocument } from './openapi/spec.ts';
import type { MemoryRateLimiter } from './rate-limit/memory-rate-limiter.ts';
import type { RateLimit, RateLimiter } from './rate-limit/rate-limiter.ts';
import type { RequireCollections } from './store/collection-check.ts';
import type { ReadBudget } from './store/read-budget.ts';
import type { ReadSnapshots } from './store/read-snapshot.ts';
import type { OpenReader } from './store/reader.ts';
import type { Trace } from './traces/tracer.ts';

/** The dependencies of the middleware below. */
export type AppDeps = {
  /** Every endpoint below `/v1`. */
  routes: Route[];
  /** The OpenAPI document. The API serves it, and generates the reference at `/docs` from it. */
  spec: OpenApiDocument;
  /** The public address of the service, with the pages of the error codes below it; undefined if it is not set. */
  baseUrl: BaseUrl;
  /** API keys begin with it, then `_live_` or `_test_`. */
  keyPrefix: string;
  /** Name of the typed client in the documentation. */
  clientPackage: string;
  /** The proxies whose `X-Forwarded-Proto` and `X-Forwarded-For` are trusted. */
  trustedProxies: AddressRange[];
  /** Counts requests without a valid key, or over plain HTTP, by client address. */
  authFailures: MemoryRateLimiter;
  /** Counts a request without a valid key by its client address, and returns the error to send. */
  refuseKey: RefuseKey;
  /** Finds the caller of a token. */
  apiKeys: ApiKeyCache;
  /** The generation to read, and its watermark. */
  snapshots: ReadSnapshots;
  /** The requests in progress, by the generation that each of them reads. */
  generationsInUse: Counts<number>;
  /** Called after an empty read: rejects if a collection of the snapshot is gone. */
  requireCollections: RequireCollections;
  /** Opens the reader of a request. */
  openReader: OpenReader;
  /** The memory that responses in progress may hold. */
  budget: ReadBudget;
  /** The maximum of requests in progress, of all clients together. */
  requestsMax: number;
  /** The rate limit of each key. */
  limit: RateLimit;
  /** Counts the requests of each key. */
  rateLimiter: RateLimiter;
  metrics: Metrics;
  /** Stores the trace of a request; null without tracing. */
  trace: Trace | null;
  /** Whether a request without a valid key, or above a rate limit, may have a log line and a trace. */
  admitUnauthenticated: () => boolean;
  logger: Logger;
  /** A monotonic clock, in milliseconds. */
  nowMs: () => number;
};

/** The middleware that a request passes through, from the outside in. */
export function createApp({
  metrics,
  logger,
  trace,
  admitUnauthenticated,
  ...deps
}: AppDeps): Koa<RequestState> {
  const app = new Koa<RequestState>();
  app.use((context, next) => {
    // Middleware and body streams listen for the end of the response. Together they may exceed Node's default limit of
    // ten listeners.
    context.res.setMaxListeners(20);
    return next();
  });
  app.use(requestId);
  app.use(accessLog({ logger, trace, admitUnauthenticated, ...metrics }));
  app.use(responseHeaders(deps));
  app.use(compression(zlibEncoders));
  app.use(errorHandler({ ...deps, ...metrics }));
  app.use(httpsOnly(deps));
  app.use(requestLimits);
  app.use(servePublic(deps));
  app.use(requireToken(deps));
  app.use(pinSnapshot(deps));
  app.use(authenticate(deps));
  app.use(concurrencyLimit(deps));
  app.use(requestReader(deps));
  app.use(rateLimit(deps));
  app.use(dispatch(deps));
  // Only an interrupted response gets here: the client has left, or MongoDB failed while the API sent the body.
  app.on('error', (error: Error & { code?: string }) => {
    if (error.code === 'ERR_STREAM_PREMATURE_CLOSE' || error.code === 'ECONNRESET') return;
    logger.error({ error }, 'a response was interrupted');
  });
  return app;
}
