import { createUseCounter, isWithinShare, type Use } from '../fair-share.ts';
import type { Middleware } from '../http/context.ts';
import { createSlowClients } from '../http/slow-clients.ts';
import type { ReadBudget } from '../store/read-budget.ts';
import { Overloaded } from '../store/store-errors.ts';

type ConcurrencyLimitDeps = {
  /** Requests in progress, of all clients together. */
  requestsMax: number;
  /** The memory of all responses in progress. */
  budget: Pick<ReadBudget, 'isHalfUsed'>;
  nowMs: () => number;
};

const oneRequest = 1;

/**
 * Limits the requests in progress: all of them (503), and the share of each organization and each key (429). A request
 * is in progress until its client has taken the response. While more than half of the requests or of the memory is in
 * use, slow clients are disconnected first.
 *
 * The limit comes after authentication, so clients without a key cannot use it up. The rate limit comes later, so a
 * request that this limit refuses does not count against the window.
 */
export function concurrencyLimit({ requestsMax, budget, nowMs }: ConcurrencyLimitDeps): Middleware {
  const requests = createUseCounter();
  const slowClients = createSlowClients({ nowMs });
  return ({ state, res }, next) => {
    const { caller } = state;
    if (!caller) throw new Error('the concurrency limit ran before authentication');
    // The client has left, so no step needs to answer. A closed response emits no further `close`, so its request
    // would count as in progress forever.
    if (res.closed) return undefined;
    if (requests.all() > requestsMax / 2 || budget.isHalfUsed()) slowClients.disconnect();
    const used = requests.of(caller);
    const exceeded = exceededLimit(requestsMax, used);
    if (exceeded) {
      throw new Overloaded(
        exceeded,
        `of ${used.byAll} requests in progress ${used.byOrganization} are of ${caller.orgId}, and ${used.byKey} of ` +
          caller.keyId,
      );
    }
    requests.add(caller, oneRequest);
    slowClients.track({ res, state }, () => requests.add(caller, -oneRequest));
    return next();
  };
}

/** The limit that one more request would exceed; null if the request may start. */
function exceededLimit(requestsMax: number, used: Use): 'requests' | 'share' | null {
  if (used.byAll >= requestsMax) return 'requests';
  return isWithinShare(requestsMax, oneRequest, used) ? null : 'share';
}
