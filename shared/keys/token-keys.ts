import type { Db, FindOptions } from 'mongodb';
import { blockedKeys } from '../control/blocked-keys.ts';
import { type ApiKeyDocument, rateLimitMax } from '../documents/api-key.ts';
import type { ServedIndex } from '../documents/served-indexes.ts';
import { collectionOf } from '../store/connection.ts';

/** A key that has the hash of a token. A deleted key has no hash. */
export type KeyCandidate = {
  id: string;
  orgId: string;
  state: 'active' | 'archived' | 'blocked';
  /** The requests that it may make in one window; undefined: the default of the service applies. */
  rateLimit?: number | undefined;
};

/** The API key of a request, its organization, and the key's own rate limit, if it has one. */
export type Caller = { keyId: string; orgId: string; rateLimit?: number | undefined };

/** The keys that have one token, in one generation. */
export type TokenOwners = {
  /** In the order of their ids, at most `sameTokenMax`. */
  candidates: KeyCandidate[];
  /** Whether further keys, which the API does not examine, have the token. */
  hasMore: boolean;
  /** Whether the token itself is blocked. It stays blocked after the blocked key was deleted. */
  isBlocked: boolean;
};

/**
 * The reason for which a token is refused:
 *
 * - `unknown`: no active key has it
 * - `shared_token`: an active key has it, and the token is blocked, or an archived or blocked key or a key of another
 *   organization has it as well; or more than `sameTokenMax` keys have it
 */
export type TokenRefusal = 'unknown' | 'shared_token';

/**
 * Keys examined per token. The source system gives each key a different token, so several keys with one token are a
 * fault.
 */
export const sameTokenMax = 10;

/**
 * Returns the key that a token belongs to, or the reason for a refusal. A revoked token stays revoked, and no
 * organization takes over the token of another one. If several active keys of one organization have the token, it
 * belongs to the first by id. A token of more than `sameTokenMax` keys is refused, because some of them are not
 * examined.
 */
export function resolveToken({ candidates, hasMore, isBlocked }: TokenOwners): KeyCandidate | TokenRefusal {
  if (hasMore) return 'shared_token';
  const first = candidates.find(({ state }) => state === 'active');
  if (!first) return 'unknown';
  const areAllOfOneOwner = candidates.every(
    ({ state, orgId }) => state === 'active' && orgId === first.orgId,
  );
  if (isBlocked || !areAllOfOneOwner) return 'shared_token';
  return first;
}

/**
 * Reads the keys that have the tokens of these hashes. Reads blocks even if no key was found. Otherwise the response
 * time would reveal whether a key exists.
 */
export async function readTokenOwners(
  control: Db,
  database: Db,
  hashes: string[],
  options: FindOptions = {},
): Promise<Map<string, TokenOwners>> {
  const keysOf = await readKeysByHash(database, hashes, options);
  const ids = [...keysOf.values()].flat().map(({ _id }) => _id);
  const blocks = await blockedKeys(control)
    .find({ _id: { $in: [...ids, ...hashes] } }, { ...options, projection: { _id: 1 } })
    .toArray();
  const blocked = new Set(blocks.map(({ _id }) => _id));
  const stateOf = ({ _id, state }: StoredKey): KeyCandidate['state'] => {
    if (blocked.has(_id)) return 'blocked';
    return state.archivedAt ? 'archived' : 'active';
  };
  const ownersOf = (hash: string): TokenOwners => {
    const stored = keysOf.get(hash) ?? [];
    const candidates = stored.slice(0, sameTokenMax).flatMap((key) => {
      const { _id: id, orgId } = key;
      if (!orgId || key.deletedAt) return [];
      return [{ id, orgId, state: stateOf(key), rateLimit: rateLimitOf(key) }];
    });
    return { candidates, hasMore: stored.length > sameTokenMax, isBlocked: blocked.has(hash) };
  };
  return new Map(hashes.map((hash) => [hash, ownersOf(hash)]));
}

/** A document without an organization is damaged and does not count as a key. */
type StoredKey = {
  _id: string;
  orgId?: string | null;
  deletedAt?: Date;
  state: { tokenSha256: string; archivedAt?: Date | null; rateLimit?: unknown };
};

/** The rate limit of the key; undefined if it has none, or if an edit by hand has made the value invalid. */
function rateLimitOf({ state: { rateLimit } }: StoredKey): number | undefined {
  const isLimit = typeof rateLimit === 'number' && Number.isInteger(rateLimit) && rateLimit > 0;
  return isLimit ? Math.min(rateLimit, rateLimitMax) : undefined;
}

/**
 * Reads the keys of some hashes in the order of the index. A reply has space for `sameTokenMax` keys of each hash, and
 * one more. In a full reply a hash has too many keys, so the reply may lack the last hashes, which are read again:
 *
 *   31 keys of the hashes a, b and c     a × 16 | b × 10 | c × 5, cut     reads c again
 */
async function readKeysByHash(
  database: Db,
  hashes: string[],
  options: FindOptions,
): Promise<Map<string, StoredKey[]>> {
  const limit = sameTokenMax * hashes.length + 1;
  const keys = await collectionOf<ApiKeyDocument>(database, 'apiKey')
    .find(
      { 'state.tokenSha256': { $in: hashes } },
      { ...options, hint: 'token' satisfies ServedIndex<'apiKey'> },
    )
    .project<StoredKey>({
      orgId: 1,
      deletedAt: 1,
      'state.tokenSha256': 1,
      'state.archivedAt': 1,
      'state.rateLimit': 1,
    })
    .sort({ 'state.tokenSha256': 1 })
    .limit(limit)
    .toArray();
  const keysByHash = Map.groupBy(keys, ({ state }) => state.tokenSha256);
  for (const keysOfHash of keysByHash.values()) keysOfHash.sort((a, b) => (a._id < b._id ? -1 : 1));
  const last = keys.at(-1);
  if (!last || keys.length < limit) return keysByHash;
  const unread = unreadHashes(hashes, keysByHash, last.state.tokenSha256);
  if (unread.length === 0) return keysByHash;
  return new Map([...keysByHash, ...(await readKeysByHash(database, unread, options))]);
}

/** The hashes that a full reply lacks, wholly or in part. `last` is the hash of its last key. */
function unreadHashes(hashes: string[], found: Map<string, StoredKey[]>, last: string): string[] {
  const hasEnoughOfLast = (found.get(last) ?? []).length > sameTokenMax;
  return hashes.filter((hash) => hash > last || (hash === last && !hasEnoughOfLast));
}
