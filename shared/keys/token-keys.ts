import type { Db, FindOptions } from 'mongodb';
import { blockedKeys } from '../control/blocked-keys.ts';
import { type ApiKeyDocument, rateLimitMax } from '../documents/api-key.ts';
import type { ServedIndex } from '../documents/served-indexes.ts';
import { collectionOf } from '../store/connection.ts';

/** A key that has the hash of a token. A deleted key has no hash. */
export type TokenKey = {
  id: string;
  orgId: string;
  state: 'active' | 'archived' | 'blocked';
  /** The requests that it may make in one window; undefined for the service's number. */
  rateLimit?: number | undefined;
};

/** Whose token a request has: the API key, its organization, and the key's own rate limit, if it has one. */
export type Caller = { keyId: string; orgId: string; rateLimit?: number | undefined };

/** Who has a token, in one generation. */
export type TokenKeys = {
  /** In the order of their ids, at most `sameTokenMax`. */
  keys: TokenKey[];
  /** Whether further keys, which the API does not examine, have the token. */
  hasMore: boolean;
  /** Whether the token itself is blocked: its block outlives the key that an operator has blocked. */
  isBlocked: boolean;
};

/**
 * Why a token is refused. `unknown`: no active key has it. `shared_token`: an active key shares it with an archived or
 * blocked key, or with a key of another organization; or more than `sameTokenMax` keys have it.
 */
export type TokenRefusal = 'unknown' | 'shared_token';

/**
 * Keys examined per token. The source system gives each key a different token, so several keys with one token are a
 * fault.
 */
export const sameTokenMax = 10;

/**
 * The key that a token belongs to, or why the token is refused. A revoked token stays revoked, and no organization
 * takes over the token of another one. If several active keys of one organization have the token, it belongs to the
 * first by id. A token of more than `sameTokenMax` keys is refused, because some of them are not examined.
 */
export function keyOfToken({ keys, hasMore, isBlocked }: TokenKeys): TokenKey | TokenRefusal {
  if (hasMore) return 'shared_token';
  const first = keys.find(({ state }) => state === 'active');
  if (!first) return 'unknown';
  const isAlone = keys.every(({ state, orgId }) => state === 'active' && orgId === first.orgId);
  return isAlone && !isBlocked ? first : 'shared_token';
}

/**
 * Reads who has the tokens of these hashes, by hash. It reads blocks even if no key was found: otherwise the response
 * time would reveal whether a key exists.
 */
export async function readTokenKeys(
  control: Db,
  database: Db,
  hashes: string[],
  options: FindOptions = {},
): Promise<Map<string, TokenKeys>> {
  const keysOf = await readKeysByHash(database, hashes, options);
  const ids = [...keysOf.values()].flat().map(({ _id }) => _id);
  const blocks = await blockedKeys(control)
    .find({ _id: { $in: [...ids, ...hashes] } }, { ...options, projection: { _id: 1 } })
    .toArray();
  const blocked = new Set(blocks.map(({ _id }) => _id));
  const stateOf = ({ _id, state }: StoredKey): TokenKey['state'] => {
    if (blocked.has(_id)) return 'blocked';
    return state.archivedAt ? 'archived' : 'active';
  };
  const tokenKeys = (hash: string): TokenKeys => {
    const stored = keysOf.get(hash) ?? [];
    const keys = stored.slice(0, sameTokenMax).flatMap((key) => {
      const { _id: id, orgId } = key;
      if (!orgId || key.deletedAt) return [];
      return [{ id, orgId, state: stateOf(key), rateLimit: rateLimitOf(key) }];
    });
    return { keys, hasMore: stored.length > sameTokenMax, isBlocked: blocked.has(hash) };
  };
  return new Map(hashes.map((hash) => [hash, tokenKeys(hash)]));
}

/** A document without an organization is damaged and does not count as a key. */
type StoredKey = {
  _id: string;
  orgId?: string | null;
  deletedAt?: Date;
  state: { tokenSha256: string; archivedAt?: Date | null; rateLimit?: unknown };
};

/** The key's own rate limit; undefined also for a value that an edit by hand has broken. */
function rateLimitOf({ state: { rateLimit } }: StoredKey): number | undefined {
  const isLimit = typeof rateLimit === 'number' && Number.isInteger(rateLimit) && rateLimit > 0;
  return isLimit ? Math.min(rateLimit, rateLimitMax) : undefined;
}

/**
 * Reads the keys of some hashes in the order of the index. A reply has space for `sameTokenMax` keys of each hash, and
 * one more. A full reply means that a hash has too many keys, and that the reply may not have reached the last hashes:
 * they are read again.
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
  const found = Map.groupBy(keys, ({ state }) => state.tokenSha256);
  for (const same of found.values()) same.sort((a, b) => (a._id < b._id ? -1 : 1));
  if (keys.length < limit) return found;
  const last = keys.at(-1)?.state.tokenSha256 ?? '';
  const isLastRead = (found.get(last) ?? []).length > sameTokenMax;
  const unread = hashes.filter((hash) => hash > last || (hash === last && !isLastRead));
  if (unread.length === 0) return found;
  return new Map([...found, ...(await readKeysByHash(database, unread, options))]);
}
