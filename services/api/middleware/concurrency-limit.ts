import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';
import type { Counter } from 'prom-client';
import type { OpenReader } from '../store/reader.ts';
import { ApiError } from '../http/api-error.ts';
import type { Middleware } from '../http/context.ts';

const retryAfterSeconds = 1;
/** Of all requests under way, the share that one organization may have. */
const organizationShare = 1 / 4;

/**
 * Bounds the requests of all clients that are being read and answered; what each of them reads and holds is bounded by
 * its reader. One is under way until its client has taken the answer; beyond the bound it is 503.
 * It stands behind the key and its rate limit, so that those who have no key cannot use it up, and no
 * organization can use it up for the others.
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
  let underWay = 0;
  const count = (orgId: string, by: 1 | -1) => {
    underWay += by;
    const left = (byOrganization.get(orgId) ?? 0) + by;
    if (left > 0) byOrganization.set(orgId, left);
    else byOrganization.delete(orgId);
  };
  return (context, next) => {
    const { caller, snapshot } = context.state;
    if (!caller || !snapshot) throw new Error('admission was reached without authentication');
    const { orgId } = caller;
    if (underWay >= requestsMax || (byOrganization.get(orgId) ?? 0) >= organizationMax) {
      requestsRefused.inc();
      throw new ApiError('service_unavailable', {
        message:
          'More requests are under way than are served at once; take the answers, and try again shortly.',
        headers: { 'Retry-After': String(retryAfterSeconds) },
      });
    }
    const response = context.res as ServerResponse | Http2ServerResponse;
    // The client has left meanwhile, and its end has been announced already.
    if ('stream' in response ? response.stream.destroyed : response.closed) return undefined;
    const store = openReader(orgId, snapshot.database);
    count(orgId, 1);
    response.once('close', () => {
      count(orgId, -1);
      store.end();
    });
    context.state.store = store;
    return next();
  };
}
