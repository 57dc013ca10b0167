import { hash as digest } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Db } from 'mongodb';
import {
  type Caller,
  readTokenOwners,
  resolveToken,
  type TokenRefusal,
} from '../../../shared/keys/token-keys.ts';
import { type ReadOptions, readWithRetries } from '../store/deadline.ts';
import { createSharedQueries } from '../store/gather.ts';
import type { ReadSnapshot } from '../store/read-snapshot.ts';
import { StoreUnavailable } from '../store/store-errors.ts';

/** Returns the caller of each hash, or why the API refuses the token. */
type LookUp = (
  snapshot: ReadSnapshot,
  hashes: string[],
  limits: ReadOptions,
) => Promise<Map<string, Caller | TokenRefusal>>;

export type ApiKeyCache = {
  /** Finds the caller of a token in a snapshot, or why the token is refused. */
  find: (snapshot: ReadSnapshot, token: string) => Promise<Caller | TokenRefusal>;
};

/**
 * How long the cache keeps a result. So a change of a key, or its block by an operator, takes effect at most five
 * seconds after the read model has it.
 */
const lifetimeMs = 5_000;
const entriesMax = 10_000;
/** The maximum of queries in progress. The other connections of the pool serve the snapshots and the traces. */
const queriesMax = 2;
/**
 * The maximum of tokens in one query. It is more than clients can send during a pause, so a valid token waits for one
 * pause.
 */
const readersPerQuery = 256;
/** The pause after a query with an unknown token, which bounds the queries that guesses cause. */
const pauseMs = 10;

type CacheDeps = {
  lookUp: LookUp;
  nowMs: () => number;
  /** Waits between look-ups; by default a timer. */
  pause?: (ms: number) => Promise<unknown>;
};

/**
 * Looks keys up by the SHA-256 of the token, and caches valid and refused tokens. Unknown and archived tokens take
 * the same path, so response times do not reveal archived keys. Refused tokens have their own cache: a flood of them
 * evicts no valid token. However many tokens clients guess, a replica starts at most 100 queries a
 * second, and a valid key waits about 10 ms.
 */
export function createApiKeyCache({ lookUp, nowMs, pause }: CacheDeps): ApiKeyCache {
  const options = { max: entriesMax, ttl: lifetimeMs, ttlResolution: 0, perf: { now: nowMs } };
  const valid = new LRUCache<string, Caller>(options);
  const refused = new LRUCache<string, TokenRefusal>(options);
  const share = createSharedQueries<string, KeyLookUp>({ queriesMax, readersPerQuery, pause });
  const query = (snapshot: ReadSnapshot, hashes: string[]) =>
    readWithRetries(async (limits) => {
      const queriedMs = nowMs();
      const callers = await lookUp(snapshot, [...new Set(hashes)], limits);
      return {
        find: (hash: string) => ({ caller: callers.get(hash) ?? 'unknown', queriedMs }),
        pauseMs: hashes.every((hash) => isCaller(callers.get(hash))) ? 0 : pauseMs,
      };
    });
  const find: ApiKeyCache['find'] = async (snapshot, token) => {
    const hash = digest('sha256', token);
    const entry = `${snapshot.generation}/${hash}`;
    const cached = valid.get(entry) ?? refused.get(entry);
    if (cached) return cached;
    const group = { snapshot, name: 'apiKey' };
    const { caller, queriedMs } = await share(group, hash, (hashes) => query(snapshot, hashes));
    // An operator may have blocked the key after its look-up.
    if (nowMs() - queriedMs >= lifetimeMs) throw new StoreUnavailable('the look-up of a key took too long');
    if (isCaller(caller)) valid.set(entry, caller, { start: queriedMs });
    else refused.set(entry, caller, { start: queriedMs });
    return caller;
  };
  return { find };
}

export const isCaller = (found: Caller | TokenRefusal | undefined): found is Caller =>
  typeof found === 'object';

/** The API's only query without an organization, because the key determines it. */
export async function findCallers(
  control: Db,
  { authDatabase }: Pick<ReadSnapshot, 'authDatabase'>,
  hashes: string[],
  limits: ReadOptions,
): Promise<Map<string, Caller | TokenRefusal>> {
  const tokens = await readTokenOwners(control, authDatabase, hashes, limits);
  const callers = new Map<string, Caller | TokenRefusal>();
  for (const [hash, owners] of tokens) {
    const resolved = resolveToken(owners);
    if (typeof resolved === 'string') callers.set(hash, resolved);
    else callers.set(hash, { keyId: resolved.id, orgId: resolved.orgId, rateLimit: resolved.rateLimit });
  }
  return callers;
}

/** The result of a look-up, and when the store was queried, by `nowMs`. */
type KeyLookUp = { caller: Caller | TokenRefusal; queriedMs: number };
