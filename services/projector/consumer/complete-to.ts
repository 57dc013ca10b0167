import type { KafkaRecord } from '../events/change.ts';
import type { Snapshot } from './progress.ts';

/** An instant, and the log's end then: what was published up to that instant lies before that end. */
type Mark = { end: number; asOfMs: number };

/**
 * Tells up to which instant a partition is complete, in milliseconds; to be called once a turn. `end` is the log's
 * end, read after `asOfMs`; without it nothing is promised.
 *
 * Caught up, it is complete up to `asOfMs`; past the end of an earlier turn, up to that turn. Neither believes a
 * clock of the product. Behind all of them, the last applied event's time counts, but no more than the oldest
 * record that waits: a producer's fast clock must not promise what still waits behind its record. While nothing
 * that waits has been fetched, nothing is known of it and nothing is promised.
 */
export function createCompleteness(): (at: Snapshot, end: number | undefined, asOfMs: number) => number {
  const marks = new Map<string, Mark>();
  return ({ topic, partition, position, appliedToMs, waitingSinceMs }, end, asOfMs) => {
    if (end === undefined) return 0;
    if (position >= end) return asOfMs;
    const key = `${topic}/${partition}`;
    const mark = marks.get(key);
    const reachedMs = mark && position >= mark.end ? mark.asOfMs : 0;
    if (!mark || reachedMs > 0) marks.set(key, { end, asOfMs });
    const believedMs = waitingSinceMs === null ? 0 : Math.min(appliedToMs ?? 0, waitingSinceMs, asOfMs);
    return Math.max(reachedMs, believedMs);
  };
}

/**
 * How old the oldest of the records that wait is, in milliseconds; null where none does. Each counts by when it was
 * published; the first also by when it says that it happened, as its producer's clock may have dated it too late.
 * Only the first is parsed, so that the cost does not grow with what waits.
 */
export function oldestMs(
  records: KafkaRecord[],
  timeOf: (record: KafkaRecord) => number | null,
): number | null {
  const [first] = records;
  if (!first) return null;
  return records.reduce(
    (least, { position }) => Math.min(least, position.timestampMs),
    timeOf(first) ?? Infinity,
  );
}
