import type { Counter } from 'prom-client';
import type { OpenReader } from '../store/reader.ts';
import { ApiError } from '../http/api-error.ts';
import type { Middleware } from '../http/context.ts';
import { hasLeft } from '../http/has-left.ts';
import { retryAfter } from '../http/retry-after.ts';

const retryAfterMs = 1_000;
/** The share of all requests in progress that one organization may have. */
const organizationShare = 1 / 4;

/**
 * Limits the requests in progress, of all clients and of each organization; further ones are 503. A request is in
 * progress until its client has taken the response. The limit comes after authentication and the rate limit, so that
 * clients without a key cannot use it up. The request's reader limits what it reads and holds in memory.
 */
export function concurrencyLimit({
  requestsMax,
  openReader,
  requestsRefused,
}: {
  requestsMax: number;
  openReader: OpenReader;
  requestsRefused: Counter;
}): Middleware {
  const organizationMax = Math.max(1, Math.floor(requestsMax * organizationShare));
  const byOrganization = new Map<string, number>();
  let inProgress = 0;
  const count = (orgId: string, by: 1 | -1) => {
    inProgress += by;
    const remaining = (byOrganization.get(orgId) ?? 0) + by;
    if (remaining > 0) byOrganization.set(orgId, remaining);
    else byOrganization.delete(orgId);
  };
  return (context, next) => {
    const { caller, snapshot } = context.state;
    if (!caller || !snapshot) throw new Error('the concurrency limit ran before authentication');
    const { orgId } = caller;
    if (inProgress >= requestsMax || (byOrganization.get(orgId) ?? 0) >= organizationMax) {
      requestsRefused.inc();
      throw new ApiError('service_unavailable', {
        message: 'Too many requests are in progress; read their responses, and try again shortly.',
        headers: retryAfter(retryAfterMs),
      });
    }
    if (hasLeft(context.res)) return undefined;
    const store = openReader(orgId, snapshot);
    count(orgId, 1);
    context.res.once('close', () => {
      count(orgId, -1);
      store.end();
    });
    context.state.store = store;
    return next();
  };
}
