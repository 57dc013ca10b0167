import { createLogLimit } from '../../../shared/runtime/log-limit.ts';
import type { Logger } from '../../../shared/runtime/logger.ts';
import type { Context, Middleware } from '../http/context.ts';
import { methodLabel } from '../http/methods.ts';
import type { Metrics } from '../metrics.ts';
import { isStoreUnavailable } from '../store/store-errors.ts';
import type { EndedRequest, Trace } from '../traces/tracer.ts';

type AccessLogDeps = {
  logger: Logger;
  trace: Trace | null;
  /** Whether a request without a valid key, or above a rate limit, may have a log line and a trace. */
  admitUnauthenticated: () => boolean;
} & Pick<Metrics, 'durations' | 'inFlight'>;

/** The status of a request whose client left before its response began. nginx logs the same number. */
const clientLeft = 499;

/**
 * Writes one log line, one metric observation and one trace per request, when its response has been sent or
 * interrupted. Two limits keep the log small: a budget for requests without a valid key, and one line a second for
 * requests that fail because MongoDB is unavailable. Paths and queries are not logged, because they contain customers'
 * ids and cursors; headers are never logged.
 */
export function accessLog(deps: AccessLogDeps): Middleware {
  const { durations, inFlight, trace, admitUnauthenticated } = deps;
  // `lineOf` chooses every field of a line, so no field needs redaction by its path. The log output still removes
  // secrets from the text of errors.
  const logger = deps.logger.child({}, { redact: [] });
  const limitStoreErrors = createLogLimit();
  const writeLine = (request: EndedRequest, failure: unknown) => {
    const line = lineOf(request, failure);
    if (request.status < 500) {
      logger.info(line, 'request');
    } else if (isStoreUnavailable(failure)) {
      // `leftOut` counts the lines that the limit has left out since the last one.
      limitStoreErrors((leftOut) => logger.error({ ...line, ...leftOut }, 'request'));
    } else {
      logger.error(line, 'request');
    }
  };
  return (context, next) => {
    const startedAt = new Date();
    const startedMs = performance.now();
    inFlight.inc();
    context.res.once('close', () => {
      inFlight.dec();
      const request = requestOf(context, { at: startedAt, durationMs: performance.now() - startedMs });
      const { route, status, caller, code } = request;
      const labels = { method: methodLabel(context.method), route: route ?? 'none', status: String(status) };
      durations.observe(labels, request.durationMs / 1_000);
      const needsBudget = !caller || code === 'too_many_requests';
      if (needsBudget && !admitUnauthenticated()) return;
      trace?.(request);
      writeLine(request, context.state.failure);
    });
    return next();
  };
}

function requestOf(
  { method, querystring, res, state }: Context,
  { at, durationMs }: Pick<EndedRequest, 'at' | 'durationMs'>,
): EndedRequest {
  const { requestId, route, pathId, errorCode, caller } = state;
  return {
    requestId,
    at,
    method,
    route: route ?? null,
    pathId,
    search: querystring,
    status: res.headersSent ? res.statusCode : clientLeft,
    code: errorCode ?? null,
    durationMs,
    aborted: !res.writableFinished,
    caller,
  };
}

/** The fields of a log line. */
type Line = Pick<EndedRequest, 'requestId' | 'method' | 'route' | 'status'> & {
  /** The duration in milliseconds, with one decimal place. */
  ms: number;
  keyId: string | undefined;
  orgId: string | undefined;
  aborted?: true;
  error?: unknown;
};

function lineOf(request: EndedRequest, failure: unknown): Line {
  const { requestId, method, route, status, durationMs, aborted, caller } = request;
  const ms = Math.round(durationMs * 10) / 10;
  const line: Line = { requestId, method, route, status, ms, keyId: caller?.keyId, orgId: caller?.orgId };
  if (aborted) line.aborted = true;
  if (failure) line.error = failure;
  return line;
}
