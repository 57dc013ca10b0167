import { LRUCache } from 'lru-cache';
import type { Kind } from '../../../shared/documents/resources.ts';
import { documentBytes, replyBytesMax } from './read-budget.ts';

/** A read of at most `items` documents of a kind. */
export type PlannedRead = { kind: Kind; items: number };

/** The number and size of the documents in a reply of MongoDB. */
export type ReplySize = { replyItems: number; replyBytes: number };

/** The minimum estimate. */
const estimateMin = 256 * 1_024;
/** An estimate assumes that each document is twice as large as the largest recent one. */
const safetyFactor = 2;
/** The time in which the estimate from the largest recent document falls by half. */
const halfLifeMs = 30_000;
/** The maximum of organizations whose sizes are kept, one size for each kind that they read. */
const organizationsMax = 5_000;

type LargestDocument = { bytes: number; atMs: number };

/**
 * Estimates the size of a read from the largest document of its kind that the organization read recently. Nearly all
 * documents are small. If every page counted as its maximum of 16 MB, an organization could run only two reads at a
 * time. If an estimate is too low, the pool still bounds the total: each of its few connections buffers 16 MB at most.
 */
export function createExpectedBytes(nowMs: () => number) {
  const largest = new LRUCache<string, Map<Kind, LargestDocument>>({ max: organizationsMax });
  const recentBytes = (orgId: string, kind: Kind) => {
    const recent = largest.get(orgId)?.get(kind);
    return recent && recent.bytes * 0.5 ** ((nowMs() - recent.atMs) / halfLifeMs);
  };
  return {
    estimate: (orgId: string, { kind, items }: PlannedRead): number => {
      // Also the estimate without recent reads. Very few single documents are larger than `documentBytes`.
      const max = items > 1 ? replyBytesMax : documentBytes;
      const bytesPerItem = recentBytes(orgId, kind);
      if (bytesPerItem === undefined) return max;
      const expected = Math.max(estimateMin, safetyFactor * items * bytesPerItem);
      return Math.ceil(Math.min(max, expected));
    },
    record: (orgId: string, kind: Kind, { replyItems, replyBytes }: ReplySize): void => {
      if (replyItems === 0) return;
      const bytes = Math.max(replyBytes / replyItems, recentBytes(orgId, kind) ?? 0);
      const largestByKind = largest.get(orgId) ?? new Map<Kind, LargestDocument>();
      largestByKind.set(kind, { bytes, atMs: nowMs() });
      largest.set(orgId, largestByKind);
    },
  };
}
