import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ApiKeyDocument } from '../../../shared/documents/api-key.ts';
import { collectionOf } from '../../../shared/runtime/mongo.ts';
import { readOptions } from '../store/deadline.ts';
import type { View } from '../store/view.ts';

/** Whose request it is. */
export type Caller = { keyId: string; orgId: string };

export type Callers = {
  /** Whether the token has last been found to be a key's, however long ago. */
  hasFound: (token: string) => boolean;
  /** The caller of a token in a view; null when the token is unknown or archived. */
  find: (view: View, token: string) => Promise<Caller | null>;
};

/** An archived key stops working, and a new one starts to, at most this long after the read model knows. */
const lifetimeMs = 5_000;
const callersMax = 10_000;
const tokenLengthMax = 512;
/** Keys of one token that are looked at; the product makes a token once. */
const sameHashMax = 10;

export const tokenShape = (brand: string) => new RegExp(`^${brand}_(live|test)_[!-~]+$`);

/**
 * Looks keys up by the SHA-256 of the token, and remembers both outcomes. Unknown and archived tokens take the
 * same path and have a memory of their own, so that a flood of them does not push out callers.
 */
export function createCallers({
  lookUp = lookUpCaller,
  nowMs,
}: {
  lookUp?: (view: View, hash: string) => Promise<Caller | null>;
  nowMs: () => number;
}): Callers {
  const options = { max: callersMax, ttl: lifetimeMs, ttlResolution: 0, perf: { now: nowMs } };
  const known = new LRUCache<string, Caller>(options);
  const unknown = new LRUCache<string, true>(options);
  const found = new LRUCache<string, true>({ max: callersMax });
  const find = async (view: View, token: string) => {
    const hash = sha256(token);
    const entry = `${view.generation}/${hash}`;
    const remembered = known.get(entry);
    if (remembered) return remembered;
    if (unknown.has(entry)) return null;
    const startedMs = nowMs();
    const caller = await lookUp(view, hash);
    if (caller) {
      known.set(entry, caller, { start: startedMs });
      found.set(hash, true);
    } else {
      unknown.set(entry, true, { start: startedMs });
      found.delete(hash);
    }
    return caller;
  };
  return { find, hasFound: (token) => found.has(sha256(token)) };
}

export const isToken = (brand: RegExp, token: string) => token.length <= tokenLengthMax && brand.test(token);

const sha256 = (token: string) => createHash('sha256').update(token).digest('hex');

/**
 * The one query without an organization: the key is what names it. Of several keys the first by id that lives
 * is taken. Whether a key is archived is not asked of the store, whose work would then tell it by its time.
 */
async function lookUpCaller({ authDatabase }: View, hash: string): Promise<Caller | null> {
  const keys = await collectionOf<ApiKeyDocument>(authDatabase, 'apiKey')
    .find({ 'own.tokenSha256': hash, orgId: { $type: 'string' } }, { hint: 'token', ...readOptions() })
    .project<{ _id: string; orgId: string; deletedAt?: Date; own?: { archivedAt?: Date | null } }>({
      orgId: 1,
      deletedAt: 1,
      'own.archivedAt': 1,
    })
    .sort({ _id: 1 })
    .limit(sameHashMax)
    .toArray();
  const living = keys.find(({ deletedAt, own }) => !deletedAt && !own?.archivedAt);
  return living ? { keyId: living._id, orgId: living.orgId } : null;
}
