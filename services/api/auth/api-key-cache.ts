import { hash as digest } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Db } from 'mongodb';
import type { ApiKeyDocument } from '../../../shared/documents/api-key.ts';
import type { IndexName } from '../../../shared/documents/resources.ts';
import { blockedKeys, blocksMarkerId } from '../../../shared/control/blocked-keys.ts';
import { collectionOf } from '../../../shared/store/connection.ts';
import type { Caller } from './caller.ts';
import { readRepeatedly, type ReadOptions } from '../store/deadline.ts';
import { createSharedQueries } from '../store/gather.ts';
import type { ReadSnapshot } from '../store/read-snapshot.ts';
import { StoreUnavailable } from '../store/store-errors.ts';

/** Returns the caller of each hash that belongs to an active key. */
type LookUp = (snapshot: ReadSnapshot, hashes: string[], limits: ReadOptions) => Promise<Map<string, Caller>>;

export type ApiKeyCache = ReturnType<typeof createApiKeyCache>;

/** A key stops or starts working at most this long after the read model has the change, or an operator has blocked it. */
const lifetimeMs = 5_000;
const entriesMax = 10_000;
const tokenLengthMax = 512;
/** Queries for keys in progress at once: the snapshots and the traces use the same connections. */
const queriesMax = 2;
/** Keys in one look-up: more than the pause lets clients guess. */
const readersPerQuery = 256;
/** Pause after a query that contained an unknown token. */
const pauseMs = 10;
/** Keys examined per token hash; the source system creates each token only once. */
const sameHashMax = 10;

export const tokenShape = (keyPrefix: string) => new RegExp(`^${keyPrefix}_(live|test)_[!-~]+$`);

type CacheDeps = { lookUp: LookUp; nowMs: () => number; pause?: (ms: number) => Promise<unknown> };

/**
 * Looks keys up by the SHA-256 of the token and caches both outcomes. Unknown and archived tokens take the same path.
 * They have a cache of their own, so that a flood of invalid tokens does not evict valid ones. However many tokens clients
 * guess, a replica starts at most 100 look-ups a second, and a valid key waits about 10 ms.
 */
export function createApiKeyCache({ lookUp, nowMs, pause }: CacheDeps) {
  const options = { max: entriesMax, ttl: lifetimeMs, ttlResolution: 0, perf: { now: nowMs } };
  const known = new LRUCache<string, Caller>(options);
  const unknown = new LRUCache<string, true>(options);
  const share = createSharedQueries<string, Found>({ queriesMax, readersPerQuery, ...(pause && { pause }) });
  const query = (snapshot: ReadSnapshot) => (hashes: string[]) =>
    readRepeatedly(async (limits) => {
      const queriedMs = nowMs();
      const callers = await lookUp(snapshot, [...new Set(hashes)], limits);
      return {
        find: (hash: string) => ({ caller: callers.get(hash) ?? null, queriedMs }),
        pauseMs: hashes.every((hash) => callers.has(hash)) ? 0 : pauseMs,
      };
    });
  /** Finds the caller of a token in a snapshot; null if the token is unknown, archived or blocked. */
  const find = async (snapshot: ReadSnapshot, token: string): Promise<Caller | null> => {
    const hash = digest('sha256', token);
    const entry = `${snapshot.generation}/${hash}`;
    const cached = known.get(entry);
    if (cached) return cached;
    if (unknown.has(entry)) return null;
    const { caller, queriedMs } = await share({ snapshot, name: 'apiKey' }, hash, query(snapshot));
    // The key may have been blocked since.
    if (nowMs() - queriedMs >= lifetimeMs) throw new StoreUnavailable('the look-up of a key took too long');
    if (caller) known.set(entry, caller, { start: queriedMs });
    else unknown.set(entry, true, { start: queriedMs });
    return caller;
  };
  return { find };
}

export const isToken = (shape: RegExp, token: string) => token.length <= tokenLengthMax && shape.test(token);

/**
 * The API's only query without an organization, because the key determines it. If several keys have the same
 * token, the first active one by id is used. Throws `StoreUnavailable` if the blocks were lost. The filter omits the
 * archived state, and the function reads blocks even if it found no key. Otherwise the response time would reveal
 * whether a key exists.
 */
export async function findCallers(
  control: Db,
  { authDatabase, hasBlocksMarker }: Pick<ReadSnapshot, 'authDatabase' | 'hasBlocksMarker'>,
  hashes: string[],
  limits: ReadOptions,
): Promise<Map<string, Caller>> {
  const keys = await collectionOf<ApiKeyDocument>(authDatabase, 'apiKey')
    .find(
      { 'state.tokenSha256': { $in: hashes } },
      { hint: 'token' satisfies IndexName<'apiKey'>, ...limits },
    )
    .project<StoredKey>({ orgId: 1, deletedAt: 1, 'state.tokenSha256': 1, 'state.archivedAt': 1 })
    .sort({ _id: 1 })
    .limit(sameHashMax * hashes.length)
    .toArray();
  const blocks = await blockedKeys(control)
    .find(
      { _id: { $in: [blocksMarkerId, ...keys.map(({ _id }) => _id)] } },
      { projection: { _id: 1 }, ...limits },
    )
    .toArray();
  const blocked = new Set(blocks.map(({ _id }) => _id));
  if (hasBlocksMarker && !blocked.has(blocksMarkerId))
    throw new StoreUnavailable('the collection blocked_keys was lost, so any key may be a blocked one');
  const active = keys.flatMap(({ _id, orgId, deletedAt, state }) =>
    orgId && !deletedAt && !state.archivedAt && !blocked.has(_id)
      ? [[state.tokenSha256, { keyId: _id, orgId }] as const]
      : [],
  );
  // Of equal tokens the last one stays in the map.
  return new Map(active.toReversed());
}

/** The result of a look-up, and when the store was queried, by `nowMs`. */
type Found = { caller: Caller | null; queriedMs: number };

/** A key without an organization can only be a damaged document: it is no key. */
type StoredKey = {
  _id: string;
  orgId?: string | null;
  deletedAt?: Date;
  state: { tokenSha256: string; archivedAt?: Date | null };
};
