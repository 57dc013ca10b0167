import type { ServedIndex, ServedKind } from '../../../shared/documents/served-indexes.ts';
import type { DateRange } from './date-range.ts';

type Direction = 'ascending' | 'descending';

/** A MongoDB condition on a sort key. */
type KeyRange = { $gt?: string; $gte?: string; $lt?: string; $lte?: string };

/**
 * The contiguous range of a page: the bounds, narrowed to the keys after the cursor. Without bounds it is `> ''`: lists
 * must not contain documents without the sort key, such as deleted ones. Bounds are ASCII, so JavaScript compares them
 * with a key as MongoDB does.
 */
export function keyRange(
  { from, until }: DateRange,
  { after, direction }: { after: string | null; direction: Direction },
): KeyRange {
  const isAscending = direction === 'ascending';
  const range = lowerBound(from, isAscending && after !== null ? after : '');
  const end = isAscending ? until : lowerOf(until, after);
  if (end !== null) range.$lt = end;
  return range;
}

/** The keys from `from` on, but only those after `passed`. */
const lowerBound = (from: string | null, passed: string): KeyRange =>
  from === null || from <= passed ? { $gt: passed } : { $gte: from };

/** The lower of two keys; null is no key. */
function lowerOf(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  return a < b ? a : b;
}

/**
 * The part of a range up to and including `key`. The range keeps its own bound: MongoDB applies `$lt` and `$lte`
 * together.
 */
export const rangeUpTo = (range: KeyRange, direction: Direction, key: string): KeyRange =>
  direction === 'ascending' ? { ...range, $lte: key } : { ...range, $gte: key };

/** A sort key, by which indexes order documents. */
export type SortField = 'byCreated' | 'byUpdated';

/**
 * A kind and its index for a query. In the index, the documents of the query are one range, or one range per status.
 */
type IndexedKind = { [K in ServedKind]: { kind: K; hint: ServedIndex<K> } }[ServedKind];

/** A query for one index range, as plain data: tests let MongoDB explain the same query. */
export type RangeQuery = IndexedKind & {
  /** The values of the index fields before the sort key: one value each, or `$in` several. */
  equals: Record<string, string | { $in: string[] }>;
  field: SortField;
  direction: Direction;
  range: KeyRange;
};

type OldestFirst = IndexedKind & { equals: RangeQuery['equals']; after: string | null; from?: string | null };

/** The documents after the sort key `after`, all of them for null, in the order of their creation. */
export const oldestFirst = ({ after, from = null, ...indexed }: OldestFirst): RangeQuery => ({
  ...indexed,
  field: 'byCreated',
  direction: 'ascending',
  range: keyRange({ from, until: null }, { after, direction: 'ascending' }),
});
