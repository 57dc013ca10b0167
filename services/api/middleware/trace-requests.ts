import type { Middleware } from '../http/context.ts';
import type { Trace } from '../traces/tracer.ts';

/** Traces each request when its response has been sent or interrupted, whatever its outcome. */
export const traceRequests =
  ({ trace }: { trace: Trace }): Middleware =>
  (context, next) => {
    const at = new Date();
    const startedMs = performance.now();
    context.res.once('close', () => {
      const { requestId, route, pathId, errorCode, caller } = context.state;
      trace({
        requestId,
        at,
        method: context.method,
        route,
        pathId,
        search: context.querystring,
        status: context.res.statusCode,
        code: errorCode,
        durationMs: performance.now() - startedMs,
        aborted: !context.res.writableFinished,
        caller,
      });
    });
    return next();
  };
