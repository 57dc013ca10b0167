import type { Counter } from 'prom-client';
import { isStoreAway } from '../store/store-errors.ts';
import { ApiError } from '../http/api-error.ts';
import { errorEnvelope, type DocsLocation } from '../http/error-envelope.ts';
import type { Middleware } from '../http/context.ts';

/** How long a client should wait while the store is away, in seconds. */
const retryAfterSeconds = 5;

/** Turns whatever was thrown into the envelope: one place, so that no failure has another shape. */
export const errorResponses =
  ({ docs, storeErrors }: { docs: DocsLocation; storeErrors: Counter }): Middleware =>
  async (context, next) => {
    try {
      await next();
    } catch (thrown) {
      const error = toApiError(thrown);
      if (isStoreAway(thrown)) storeErrors.inc();
      if (error.status >= 500) context.state.failure = error.cause ?? thrown;
      context.state.errorCode = error.code;
      context.status = error.status;
      context.set(error.headers);
      const { requestId } = context.state;
      const envelope = errorEnvelope(docs, error, { requestId, port: context.req.socket.localPort });
      context.type = 'application/json';
      context.body = JSON.stringify(envelope);
    }
  };

export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (!isStoreAway(thrown)) return new ApiError('internal_error', { cause: thrown });
  return new ApiError('service_unavailable', {
    cause: thrown,
    headers: { 'Retry-After': String(retryAfterSeconds) },
  });
}
