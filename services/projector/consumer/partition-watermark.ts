import { partitionKey } from '../kafka/topic-partition.ts';
import type { Snapshot } from './snapshot.ts';

/** An instant, and the log's end offset then: every record published up to that instant lies before that end. */
type Mark = { end: number; asOfMs: number };

/**
 * Returns a function that computes the instant, in milliseconds, up to which a partition is complete. Call it once
 * per run of the commit loop. `end` is the log's end offset, read after `asOfMs`; without it the result is 0.
 *
 * A partition that is caught up is complete up to `asOfMs`. One that has passed the end of an earlier run is complete
 * up to the start of that run. Neither depends on a clock of the source system.
 *
 * Otherwise the time of the last applied event counts, but no later than the oldest pending record: the fast clock of
 * one producer must not claim records that are still pending. While no pending record has been fetched, it is 0.
 */
export function createPartitionWatermarks(): (
  snapshot: Snapshot,
  end: number | undefined,
  asOfMs: number,
) => number {
  const marks = new Map<string, Mark>();
  return (snapshot, end, asOfMs) => {
    const { position, appliedToMs, oldestPendingMs } = snapshot;
    if (end === undefined) return 0;
    if (position >= end) return asOfMs;
    const key = partitionKey(snapshot);
    const mark = marks.get(key);
    const reachedMs = mark && position >= mark.end ? mark.asOfMs : 0;
    if (!mark || reachedMs > 0) marks.set(key, { end, asOfMs });
    const eventMs = oldestPendingMs === null ? 0 : Math.min(appliedToMs ?? 0, oldestPendingMs, asOfMs);
    return Math.max(reachedMs, eventMs);
  };
}
