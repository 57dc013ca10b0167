import type { Counter } from 'prom-client';
import { isStoreUnavailable } from '../store/store-errors.ts';
import { ApiError } from '../http/api-error.ts';
import { commonHeaders } from '../http/common-headers.ts';
import { errorEnvelope, type DocsLocation } from '../http/error-envelope.ts';
import type { Middleware } from '../http/context.ts';
import { retryAfter } from '../http/retry-after.ts';

/** How long a client should wait while the store is unavailable. */
const retryAfterMs = 5_000;

/** Headers that describe the content which the error replaces. */
const contentHeaders = ['Content-Encoding', 'Content-Security-Policy', 'ETag', 'Link'];

/** Turns whatever was thrown into the error envelope. It is the only place, so no error has another shape. */
export const errorHandler =
  ({ docs, storeErrors }: { docs: DocsLocation; storeErrors: Counter }): Middleware =>
  async (context, next) => {
    try {
      await next();
    } catch (thrown) {
      const error = toApiError(thrown);
      if (isStoreUnavailable(thrown)) storeErrors.inc();
      if (error.status >= 500) context.state.failure = error.cause ?? thrown;
      context.state.errorCode = error.code;
      context.status = error.status;
      for (const name of contentHeaders) context.remove(name);
      context.set({ ...commonHeaders, ...error.headers });
      const { requestId } = context.state;
      const envelope = errorEnvelope(docs, error, { requestId, port: context.req.socket.localPort });
      context.type = 'application/json';
      context.body = JSON.stringify(envelope);
    }
  };

export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (!isStoreUnavailable(thrown)) return new ApiError('internal_error', { cause: thrown });
  return new ApiError('service_unavailable', { cause: thrown, headers: retryAfter(retryAfterMs) });
}
