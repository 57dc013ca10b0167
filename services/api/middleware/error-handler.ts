import type { Counter } from 'prom-client';
import { ApiError } from '../http/api-error.ts';
import type { Middleware } from '../http/context.ts';
import { type BaseUrl, errorEnvelope } from '../http/error-envelope.ts';
import { commonHeaders, retryAfter } from '../http/headers.ts';
import { isStoreUnavailable, Overloaded } from '../store/store-errors.ts';

/** How long a client should wait while the store is unavailable. */
const retryAfterMs = 5_000;
/** How long it should wait while this process has too much in progress. */
const overloadedMs = 1_000;

type ErrorHandlerDeps = { baseUrl: BaseUrl; storeErrors: Counter; requestsRefused: Counter<'reason'> };

/** Turns whatever was thrown into the error envelope. It is the only place, so no error has another shape. */
export const errorHandler =
  ({ baseUrl, storeErrors, requestsRefused }: ErrorHandlerDeps): Middleware =>
  async (context, next) => {
    try {
      await next();
    } catch (thrown) {
      const error = toApiError(thrown);
      const isCounted = !context.res.closed;
      if (isCounted && thrown instanceof Overloaded) requestsRefused.inc({ reason: thrown.limit });
      else if (isCounted && isStoreUnavailable(thrown)) storeErrors.inc();
      if (error.status >= 500) context.state.failure = error.cause ?? thrown;
      context.state.errorCode = error.code;
      context.status = error.status;
      context.set({ ...commonHeaders, ...error.headers });
      const { requestId } = context.state;
      const envelope = errorEnvelope(baseUrl, error, { requestId, port: context.req.socket.localPort });
      context.type = 'application/json';
      context.body = JSON.stringify(envelope);
    }
  };

function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof Overloaded) {
    const isShare = thrown.limit === 'share';
    const message = `Too many requests ${isShare ? 'of this API key or its organization ' : ''}are in progress; read their responses, and try again shortly.`;
    const detail = { message, cause: thrown, headers: retryAfter(overloadedMs) };
    return new ApiError(isShare ? 'too_many_requests' : 'service_unavailable', detail);
  }
  if (!isStoreUnavailable(thrown)) return new ApiError('internal_error', { cause: thrown });
  return new ApiError('service_unavailable', { cause: thrown, headers: retryAfter(retryAfterMs) });
}
