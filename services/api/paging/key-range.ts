import type { DateRange } from './date-range.ts';

export type Direction = 'ascending' | 'descending';

/** A MongoDB condition on a sort key. */
export type KeyRange = ({ $gt: string } | { $gte: string }) & ({ $lt?: string } | { $lte: string });

/** Bytewise, as the store compares. */
const isAbove = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b)) > 0;

/**
 * The one contiguous range of a page: the bounds, narrowed to what lies behind the cursor. Even without any
 * bound it says `> ''`, so that documents without the sort key (those that lists must not show) lie outside.
 */
export function keyRange(
  { from, until }: DateRange,
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

/** What is left of a range behind `key`, which lies in it. */
export const goingOn = (range: KeyRange, direction: Direction, key: string): KeyRange =>
  direction === 'ascending' ? { ...upper(range), $gt: key } : { ...lower(range), $lt: key };

/** A range that ends with `key`, which lies in it. */
export const upTo = (range: KeyRange, direction: Direction, key: string): KeyRange =>
  direction === 'ascending' ? { ...lower(range), $lte: key } : { ...upper(range), $gte: key };

const lower = (range: KeyRange) => ('$gt' in range ? { $gt: range.$gt } : { $gte: range.$gte });
function upper(range: KeyRange) {
  if ('$lte' in range) return { $lte: range.$lte };
  return range.$lt === undefined ? {} : { $lt: range.$lt };
}
