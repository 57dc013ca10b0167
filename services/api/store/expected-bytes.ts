import { LRUCache } from 'lru-cache';
import type { Kind } from '../../../shared/documents/document.ts';
import { documentBytes, replyBytesMax } from './read-budget.ts';

/** What is read: so many documents of a kind at the most. */
export type Reading = { kind: Kind; items: number };

/** What a reply brought. */
export type Reply = { replyItems: number; replyBytes: number };

export type ExpectedBytes = {
  of: (orgId: string, reading: Reading) => number;
  saw: (orgId: string, kind: Kind, reply: Reply) => void;
};

/** No read is expected to bring less. */
const leastBytes = 256 * 1_024;
/** Documents may be so many times larger than the largest of late. */
const margin = 2;
/** The size of the largest document of late counts half after so long, in milliseconds. */
const halfLifeMs = 30_000;
const rememberedMax = 20_000;

/**
 * Foretells what a read brings by the largest document of its kind that its organization was lately given. Nearly all
 * are small, and to count each page as the 16 MB that it may come to would let two be read at once. Of an organization
 * not met before it is counted so. A wrong guess is bounded by the connections of the pool, 16 MB each.
 */
export function createExpectedBytes(nowMs: () => number): ExpectedBytes {
  const largest = new LRUCache<string, { bytes: number; atMs: number }>({ max: rememberedMax });
  const remembered = (key: string) => {
    const known = largest.get(key);
    return known && known.bytes * 0.5 ** ((nowMs() - known.atMs) / halfLifeMs);
  };
  return {
    of: (orgId, { kind, items }) => {
      const most = items > 1 ? replyBytesMax : documentBytes;
      const each = remembered(`${kind} ${orgId}`);
      return each === undefined ? most : Math.min(most, Math.max(leastBytes, margin * items * each));
    },
    saw: (orgId, kind, { replyItems, replyBytes }) => {
      if (replyItems === 0) return;
      const key = `${kind} ${orgId}`;
      const bytes = Math.max(replyBytes / replyItems, remembered(key) ?? 0);
      largest.set(key, { bytes, atMs: nowMs() });
    },
  };
}
