import { type ApiKeyCache, isCaller } from '../auth/api-key-cache.ts';
import { tokenOf } from '../auth/bearer-token.ts';
import type { RefuseKey } from '../auth/refuse-key.ts';
import type { Middleware } from '../http/context.ts';
import type { RequireCollections } from '../store/collection-check.ts';
import { StoreUnavailable } from '../store/store-errors.ts';

type AuthenticateDeps = {
  apiKeys: ApiKeyCache;
  refuseKey: RefuseKey;
  requireCollections: RequireCollections;
};

/**
 * Finds the caller of the token in the snapshot of the request. If MongoDB does not answer, the client gets 503, and
 * the request does not count as a failed authentication. The cache of keys limits the look-ups of guessed keys.
 */
export function authenticate({ apiKeys, refuseKey, requireCollections }: AuthenticateDeps): Middleware {
  return async ({ req, state }, next) => {
    const token = tokenOf(req);
    const { snapshot } = state;
    if (token === null || !snapshot) throw new Error('a request without a token or a snapshot');
    const caller = await apiKeys.find(snapshot, token);
    if (!isCaller(caller)) {
      // If the collection of keys was dropped, every key is unknown.
      await requireCollections(snapshot);
      // Until the projector has first applied all topics, `dataAsOf` is the Unix epoch, and a valid key may be missing.
      const isFirstLoad = snapshot.dataAsOf.getTime() === 0;
      if (isFirstLoad) throw new StoreUnavailable('the key is unknown, but not every key is loaded yet');
      throw refuseKey(req, caller);
    }
    state.caller = caller;
    await next();
  };
}
