/** An instant, and the log's end offset then: every record published up to that instant lies before that end. */
type Mark = { end: number; asOfMs: number };

/** Marks are this part of the time since the oldest apart. A week's backlog then has some 200 of them. */
const markSpacing = 1 / 16;

/**
 * Returns a function that computes the instant, in milliseconds, up to which a partition is complete. Call it once
 * per run of the commit loop. `end` is the log's end offset, read after `asOfMs`; undefined if it is unknown.
 *
 * A partition that is caught up is complete up to `asOfMs`. One that has reached the end of an earlier run is complete
 * up to the start of that run. Neither depends on a producer's clock. Otherwise the result is 0.
 */
export function createPartitionWatermarks(): (
  key: string,
  position: number,
  end: number | undefined,
  asOfMs: number,
) => number {
  const marksByKey = new Map<string, Mark[]>();
  return (key, position, end = Infinity, asOfMs) => {
    const marks = marksByKey.get(key) ?? [];
    const ahead = marks.filter((mark) => position < mark.end);
    const [oldestMs, newestMs] = [ahead[0]?.asOfMs ?? asOfMs, ahead.at(-1)?.asOfMs ?? -Infinity];
    const isDue = asOfMs - newestMs >= (asOfMs - oldestMs) * markSpacing;
    if (position < end && end < Infinity && isDue) ahead.push({ end, asOfMs });
    marksByKey.set(key, ahead);
    return position >= end ? asOfMs : (marks.findLast((mark) => position >= mark.end)?.asOfMs ?? 0);
  };
}
