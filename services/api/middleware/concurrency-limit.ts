import { fairShare, type ReadBudget } from '../store/read-budget.ts';
import type { OpenReader } from '../store/reader.ts';
import { Overloaded } from '../store/store-errors.ts';
import type { Middleware, RequestState } from '../http/context.ts';

/** A client has this long to take its response, and a second more for each 64 KB, while room is scarce. */
const takeMs = 60_000;
const takeMsPerByte = 1_000 / 65_536;

type InProgress = { startedMs: number; state: RequestState; close: () => void };

type Deps = {
  requestsMax: number;
  openReader: OpenReader;
  budget: Pick<ReadBudget, 'isHalfUsed'>;
  nowMs: () => number;
};

/**
 * Limits the requests in progress, of all clients and of each organization; further ones are 503. A request is in
 * progress until its client has taken the response. While more than half of the requests or of the memory is in use,
 * clients that take their responses too slowly are disconnected. The limit comes after authentication and the rate
 * limit, so that clients without a key cannot use it up.
 */
export function concurrencyLimit({ requestsMax, openReader, budget, nowMs }: Deps): Middleware {
  const byOrganization = new Map<string, number>();
  const inProgress = new Set<InProgress>();
  const count = (orgId: string, by: 1 | -1) => {
    const remaining = (byOrganization.get(orgId) ?? 0) + by;
    if (remaining > 0) byOrganization.set(orgId, remaining);
    else byOrganization.delete(orgId);
  };
  const closeSlow = () => {
    if (inProgress.size <= requestsMax / 2 && !budget.isHalfUsed()) return;
    for (const { startedMs, state, close } of inProgress) {
      if (nowMs() - startedMs > takeMs + state.responseBytes * takeMsPerByte) close();
    }
  };
  return (context, next) => {
    const { state, res } = context;
    const { caller, snapshot } = state;
    if (!caller || !snapshot) throw new Error('the concurrency limit ran before authentication');
    if (res.closed) return undefined;
    const { orgId } = caller;
    closeSlow();
    const own = byOrganization.get(orgId) ?? 0;
    const isOverShare = own > 0 && own + 1 > fairShare(requestsMax, inProgress.size);
    if (isOverShare || inProgress.size >= requestsMax) {
      throw new Overloaded('requests', `${own} of ${inProgress.size} requests in progress are of ${orgId}`);
    }
    const store = openReader(orgId, snapshot);
    const end = () => {
      if (!inProgress.delete(entry)) return;
      count(orgId, -1);
      store.end();
    };
    const close = () => {
      end();
      res.destroy();
    };
    const entry: InProgress = { startedMs: nowMs(), state, close };
    inProgress.add(entry);
    count(orgId, 1);
    res.once('close', end);
    state.store = store;
    return next();
  };
}
