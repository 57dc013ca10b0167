import type { Counter } from 'prom-client';
import { ApiError } from '../http/api-error.ts';
import type { Middleware } from '../http/context.ts';
import { type BaseUrl, errorEnvelope } from '../http/error-envelope.ts';
import { commonHeaders, retryAfter } from '../http/headers.ts';
import { isStoreUnavailable, Overloaded } from '../store/store-errors.ts';

/** How long a client should wait while MongoDB is unavailable. */
const unavailableRetryMs = 5_000;
/** How long a client should wait while this replica, or the client's share of it, is in use. */
const overloadedRetryMs = 1_000;

type ErrorHandlerDeps = { baseUrl: BaseUrl; storeErrors: Counter; requestsRefused: Counter<'reason'> };

/** Answers every error that the application throws with the error envelope, so no error has another shape. */
export function errorHandler({ baseUrl, storeErrors, requestsRefused }: ErrorHandlerDeps): Middleware {
  const count = (thrown: unknown) => {
    if (thrown instanceof Overloaded) requestsRefused.inc({ reason: thrown.limit });
    else if (isStoreUnavailable(thrown)) storeErrors.inc();
  };
  return async (context, next) => {
    try {
      await next();
    } catch (thrown) {
      const error = toApiError(thrown);
      // A client that has left receives no error, so none is counted.
      if (!context.res.closed) count(thrown);
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
}

function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof Overloaded) return overloadedError(thrown);
  if (!isStoreUnavailable(thrown)) return new ApiError('internal_error', { cause: thrown });
  return new ApiError('service_unavailable', { cause: thrown, headers: retryAfter(unavailableRetryMs) });
}

function overloadedError(cause: Overloaded): ApiError {
  const headers = retryAfter(overloadedRetryMs);
  if (cause.limit !== 'share') {
    const message =
      'The API has too many requests in progress now; send the request again after the number of seconds in the `Retry-After` header.';
    return new ApiError('service_unavailable', { message, cause, headers });
  }
  const message =
    'This API key or its organization has too many requests in progress; read their responses, then wait for the number of seconds in the `Retry-After` header.';
  return new ApiError('too_many_requests', { message, cause, headers });
}
