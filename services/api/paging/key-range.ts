import type { Bounds } from './bounds.ts';

export type Direction = 'ascending' | 'descending';

/** A MongoDB condition on a sort key. */
export type KeyRange = { $gt: string; $lt?: string } | { $gte: string; $lt?: string };

/** Bytewise, as the store compares. */
const isAbove = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b)) > 0;

/**
 * The one contiguous range of a page: the bounds, narrowed to what lies behind the cursor. Even without any
 * bound it says `> ''`, so that documents without the sort key (those that lists must not show) lie outside.
 */
export function keyRange(
  { from, until }: Bounds,
  { after, direction }: { after: string | null; direction: Direction },
): KeyRange {
  const passed = direction === 'ascending' ? after : null;
  const reached = direction === 'descending' ? after : null;
  const lower =
    passed !== null && (from === null || !isAbove(from, passed))
      ? { $gt: passed }
      : from === null
        ? { $gt: '' }
        : { $gte: from };
  const upper = reached !== null && (until === null || isAbove(until, reached)) ? reached : until;
  return upper === null ? lower : { ...lower, $lt: upper };
}
