import { createUse, isWithinShare, type ReadBudget } from '../store/read-budget.ts';
import type { OpenReader } from '../store/reader.ts';
import { Overloaded } from '../store/store-errors.ts';
import type { Middleware, RequestState } from '../http/context.ts';
import { interruptResponse } from '../http/interrupt.ts';

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
 * Limits the requests in progress, of all clients, of each organization and of each key. Further ones are 429 if the
 * organization or the key has its share, and 503 if all are in use. A request is in progress until its client has taken
 * the response. While more than half of the requests or of the memory is in use, clients that take their responses too
 * slowly are disconnected. The limit comes after authentication, so that clients without a key cannot use it up, and
 * before the rate limit, so that a refused request does not count against the window.
 */
export function concurrencyLimit({ requestsMax, openReader, budget, nowMs }: Deps): Middleware {
  const requests = createUse();
  const inProgress = new Set<InProgress>();
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
    closeSlow();
    const used = requests.of(caller);
    const isFull = used.all >= requestsMax;
    if (isFull || !isWithinShare(requestsMax, 1, used)) {
      throw new Overloaded(
        isFull ? 'requests' : 'share',
        `of ${used.all} requests in progress ${used.org} are of ${caller.orgId}, and ${used.key} of ${caller.keyId}`,
      );
    }
    const store = openReader(caller, snapshot);
    const end = () => {
      if (!inProgress.delete(entry)) return;
      requests.add(caller, -1);
      store.end();
    };
    const close = () => {
      end();
      interruptResponse(res);
    };
    const entry: InProgress = { startedMs: nowMs(), state, close };
    inProgress.add(entry);
    requests.add(caller, 1);
    res.once('close', end);
    state.store = store;
    return next();
  };
}
