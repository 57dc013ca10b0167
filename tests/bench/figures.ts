const median = (values: number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const high = sorted[middle] ?? NaN;
  const low = sorted.length % 2 === 0 ? (sorted[middle - 1] ?? NaN) : high;
  return (low + high) / 2;
};

/** The smallest value that `share` (0 to 1) of the values do not exceed; null without values. */
export function percentile(values: number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

/** The median of the values that a run could measure, followed by the minimum and the maximum if they differ. */
export function formatted(values: (number | null)[], digits = 0): string {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return '–';
  const spread = [median(known), Math.min(...known), Math.max(...known)];
  const [middle, min, max] = spread.map((value) => grouped(value, digits));
  return min === max ? `${middle}` : `${middle} (${min}–${max})`;
}

export const grouped = (value: number, digits = 0): string =>
  value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** A figure of each run divided by that of another's in the same round: other load on the machine affects both. */
export const ratios = <Run>(runs: Run[], others: Run[], figure: (run: Run) => number): (number | null)[] =>
  runs.map((run, round) => (others[round] ? figure(run) / figure(others[round]) : null));

/**
 * The contenders in the order of a round. Each round starts with another contender, so that no contender always follows
 * the same one.
 */
export function rotated<T>(contenders: readonly T[], round: number): T[] {
  const first = round % contenders.length;
  return [...contenders.slice(first), ...contenders.slice(0, first)];
}
