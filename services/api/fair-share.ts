import type { Caller } from '../../shared/keys/token-keys.ts';
import { type Counts, createCounts } from './counts.ts';

/** How much of a limit is in use: by all callers together, by one caller's organization, and by its key. */
export type Use = { byAll: number; byOrganization: number; byKey: number };

/** Counts the use of one limit. */
export type UseCounter = {
  all: () => number;
  of: (caller: Caller) => Use;
  /** Adds to the use of a caller; a negative number subtracts. */
  add: (caller: Caller, more: number) => void;
};

export function createUseCounter(): UseCounter {
  const organizations = createCounts<string>();
  /** The use of each key, by organization. An organization without any use takes no memory. */
  const keys = new Map<string, Counts<string>>();
  let all = 0;
  return {
    all: () => all,
    of: ({ orgId, keyId }) => ({
      byAll: all,
      byOrganization: organizations.count(orgId),
      byKey: keys.get(orgId)?.count(keyId) ?? 0,
    }),
    add: ({ orgId, keyId }, more) => {
      all += more;
      organizations.add(orgId, more);
      const keysOfOrganization = keys.get(orgId) ?? createCounts<string>();
      keysOfOrganization.add(keyId, more);
      if (organizations.count(orgId) === 0) keys.delete(orgId);
      else keys.set(orgId, keysOfOrganization);
    },
  };
}

/** An organization may use a quarter of a limit, and each of its keys half of that. */
const organizationParts = 4;
const keyParts = 2;

/** The share of one of several callers: `limit / parts` while less than half is in use, then `free / parts`. */
const fairShare = (limit: number, used: number, parts: number): number =>
  (used < limit / 2 ? limit : limit - used) / parts;

/**
 * Whether a caller may use `more` of a limit, within the shares of its organization and of its key. So the other keys
 * of the organization have capacity even if one key does not take its responses. An organization or a key that uses
 * nothing may always start.
 *
 * While less than half of the limit is in use, `more` may exceed a share that is not used up. Otherwise the small reads
 * of a key would always fit, and its large read would wait behind them forever.
 */
export function isWithinShare(limit: number, more: number, used: Use): boolean {
  const isScarce = used.byAll >= limit / 2;
  const isWithin = (inUse: number, allowed: number) => {
    if (inUse === 0) return true;
    return isScarce ? inUse + more <= allowed : inUse < allowed;
  };
  const orgShare = fairShare(limit, used.byAll, organizationParts);
  const keyShare = fairShare(orgShare, used.byOrganization, keyParts);
  return isWithin(used.byOrganization, orgShare) && isWithin(used.byKey, keyShare);
}
