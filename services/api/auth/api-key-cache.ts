import { hash as digest } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ApiKeyDocument } from '../../../shared/documents/api-key.ts';
import { collectionOf } from '../../../shared/store/connection.ts';
import { readOptions } from '../store/deadline.ts';
import type { ReadSnapshot } from '../store/read-snapshot.ts';
import { batchLookUps, type LookUp } from './batch-lookups.ts';

/** Whose request it is. */
export type Caller = { keyId: string; orgId: string };

export type ApiKeyCache = {
  /** The caller of a token in a view; null when the token is unknown or archived. */
  find: (snapshot: ReadSnapshot, token: string) => Promise<Caller | null>;
};

/** An archived key stops working, and a new one starts to, at most this long after the read model knows. */
const lifetimeMs = 5_000;
const callersMax = 10_000;
const tokenLengthMax = 512;
/** Keys looked at for each token; the product makes a token once. */
const sameHashMax = 10;

export const tokenShape = (brand: string) => new RegExp(`^${brand}_(live|test)_[!-~]+$`);

/**
 * Looks keys up by the SHA-256 of the token, and remembers both outcomes. Unknown and archived tokens take the
 * same path and have a memory of their own, so that a flood of them does not push out callers.
 */
export function createApiKeyCache({
  lookUp = findCallers,
  nowMs,
}: {
  lookUp?: LookUp;
  nowMs: () => number;
}): ApiKeyCache {
  const options = { max: callersMax, ttl: lifetimeMs, ttlResolution: 0, perf: { now: nowMs } };
  const known = new LRUCache<string, Caller>(options);
  const unknown = new LRUCache<string, true>(options);
  const ask = batchLookUps({ lookUp, nowMs });
  const find = async (snapshot: ReadSnapshot, token: string) => {
    const hash = digest('sha256', token);
    const entry = `${snapshot.generation}/${hash}`;
    const remembered = known.get(entry);
    if (remembered) return remembered;
    if (unknown.has(entry)) return null;
    const { caller, askedMs } = await ask(snapshot, hash);
    if (caller) known.set(entry, caller, { start: askedMs });
    else unknown.set(entry, true, { start: askedMs });
    return caller;
  };
  return { find };
}

export const isToken = (brand: RegExp, token: string) => token.length <= tokenLengthMax && brand.test(token);

/**
 * The one query without an organization: the key is what names it. Of several keys of a token the first by id
 * that lives is taken. Whether a key is archived is not asked of the store, whose work would then tell it by its
 * time.
 */
async function findCallers({ authDatabase }: ReadSnapshot, hashes: string[]): Promise<Map<string, Caller>> {
  const keys = await collectionOf<ApiKeyDocument>(authDatabase, 'apiKey')
    .find(
      { 'state.tokenSha256': { $in: hashes }, orgId: { $type: 'string' } },
      { hint: 'token', ...readOptions() },
    )
    .project<{ _id: string; orgId: string; deletedAt?: Date; state: StoredKey }>({
      orgId: 1,
      deletedAt: 1,
      'state.tokenSha256': 1,
      'state.archivedAt': 1,
    })
    .sort({ _id: 1 })
    .limit(sameHashMax * hashes.length)
    .toArray();
  const living = keys.filter(({ deletedAt, state }) => !deletedAt && !state.archivedAt);
  return new Map(
    living.toReversed().map(({ _id, orgId, state }) => [state.tokenSha256, { keyId: _id, orgId }]),
  );
}

type StoredKey = { tokenSha256: string; archivedAt?: Date | null };
