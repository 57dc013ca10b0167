import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ApiKeyDocument } from '../../../shared/documents/api-key.ts';
import { collectionOf } from '../../../shared/runtime/mongo.ts';
import { readDeadline } from '../store/deadline.ts';
import type { View } from '../store/view.ts';

/** Whose request it is. */
export type Caller = { keyId: string; orgId: string };

/** Finds the caller of a token in a view; null when the token is malformed, unknown or archived. */
export type FindCaller = (view: View, token: string) => Promise<Caller | null>;

/** An archived key stops working, and a new one starts to, at most this long after the read model knows. */
const lifetimeMs = 5_000;
const callersMax = 10_000;
const tokenLengthMax = 512;

export const tokenShape = (brand: string) => new RegExp(`^${brand}_(live|test)_[!-~]+$`);

/**
 * Looks keys up by the SHA-256 of the token, and remembers both outcomes. Unknown tokens have a memory of
 * their own, so that a flood of them does not push out callers.
 */
export function createFindCaller({
  lookUp = lookUpCaller,
  nowMs,
}: {
  lookUp?: FindCaller;
  nowMs: () => number;
}): FindCaller {
  const options = { max: callersMax, ttl: lifetimeMs, ttlResolution: 0, perf: { now: nowMs } };
  const known = new LRUCache<string, Caller>(options);
  const unknown = new LRUCache<string, true>(options);
  return async (view, token) => {
    const hash = sha256(token);
    const entry = `${view.generation}/${hash}`;
    const remembered = known.get(entry);
    if (remembered) return remembered;
    if (unknown.has(entry)) return null;
    const startedMs = nowMs();
    const caller = await lookUp(view, hash);
    if (caller) known.set(entry, caller, { start: startedMs });
    else unknown.set(entry, true, { start: startedMs });
    return caller;
  };
}

export const isToken = (brand: RegExp, token: string) => token.length <= tokenLengthMax && brand.test(token);

const sha256 = (token: string) => createHash('sha256').update(token).digest('hex');

/** The one query without an organization: the key is what names it. Of several keys the first by id is taken. */
async function lookUpCaller({ database }: View, hash: string): Promise<Caller | null> {
  const [found] = await collectionOf<ApiKeyDocument>(database, 'apiKey')
    .find(
      { 'own.tokenSha256': hash, 'own.archivedAt': null, orgId: { $type: 'string' } },
      { hint: 'token', signal: readDeadline() },
    )
    .project<{ _id: string; orgId: string; deletedAt?: Date }>({ orgId: 1, deletedAt: 1 })
    .sort({ _id: 1 })
    .limit(1)
    .toArray();
  return found && !found.deletedAt ? { keyId: found._id, orgId: found.orgId } : null;
}
