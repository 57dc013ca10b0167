import Koa from 'koa';
import type { Logger } from '../../shared/runtime/logger.ts';
import type { RequestState } from './http/context.ts';
import { dispatch } from './http/dispatch.ts';
import type { Metrics } from './metrics.ts';
import { accessLog } from './middleware/access-log.ts';
import { authenticate } from './middleware/authenticate.ts';
import { compression } from './middleware/compression.ts';
import { concurrencyLimit } from './middleware/concurrency-limit.ts';
import { errorHandler } from './middleware/error-handler.ts';
import { httpsOnly } from './middleware/https-only.ts';
import { servePublic } from './middleware/public-paths.ts';
import { rateLimit } from './middleware/rate-limit.ts';
import { requestId } from './middleware/request-id.ts';
import { requestLimits } from './middleware/request-limits.ts';
import { responseHeaders } from './middleware/response-headers.ts';
import type { Trace } from './traces/tracer.ts';

/** The dependencies of the middleware below. */
type AppDeps = Parameters<typeof responseHeaders>[0] &
  Parameters<typeof httpsOnly>[0] &
  Parameters<typeof servePublic>[0] &
  Omit<Parameters<typeof authenticate>[0], keyof Metrics> &
  Parameters<typeof concurrencyLimit>[0] &
  Parameters<typeof rateLimit>[0] &
  Parameters<typeof dispatch>[0] & {
    metrics: Metrics;
    /** Null if requests are not traced. */
    trace: Trace | null;
    /** Whether a request without a valid key, or above a rate limit, may have a log line and a trace. */
    admitKeyless: () => boolean;
    logger: Logger;
  };

/** The middleware that a request passes through, from the outside in. */
export function createApp({ metrics, logger, trace, admitKeyless, ...deps }: AppDeps): Koa<RequestState> {
  const app = new Koa<RequestState>();
  app.use((context, next) => {
    // Middleware and body streams each listen for the end of the response, at times more than Node's limit of ten.
    context.res.setMaxListeners(20);
    return next();
  });
  app.use(requestId);
  app.use(accessLog({ logger, trace, admitKeyless, ...metrics }));
  app.use(responseHeaders(deps));
  app.use(compression);
  app.use(errorHandler({ ...deps, ...metrics }));
  app.use(httpsOnly(deps));
  app.use(requestLimits);
  app.use(servePublic(deps));
  app.use(authenticate({ ...deps, ...metrics }));
  app.use(concurrencyLimit(deps));
  app.use(rateLimit(deps));
  app.use(dispatch(deps));
  // Only a body that was interrupted gets here: the client has left, or the store failed midway.
  app.on('error', (error: Error & { code?: string }) => {
    if (error.code === 'ERR_STREAM_PREMATURE_CLOSE' || error.code === 'ECONNRESET') return;
    logger.error({ error }, 'a response was interrupted');
  });
  return app;
}
