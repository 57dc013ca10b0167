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

/**
 * Formats the median of the measured values, followed by the minimum and the maximum if they differ. A run that could
 * not measure has the value null.
 */
export function formatMedian(values: (number | null)[], digits = 0): string {
  const measured = values.filter((value) => value !== null);
  if (measured.length === 0) return '–';
  const middle = formatNumber(median(measured), digits);
  const min = formatNumber(Math.min(...measured), digits);
  const max = formatNumber(Math.max(...measured), digits);
  return min === max ? middle : `${middle} (${min}–${max})`;
}

/** Formats a number with commas between thousands. */
export const formatNumber = (value: number, digits = 0): string =>
  value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });

/**
 * Divides a figure of each run by that of the base's run in the same round, because a foreign load on the machine then
 * affects both.
 */
export const ratios = <Run>(
  runs: Run[],
  baseRuns: Run[],
  figureOf: (run: Run) => number,
): (number | null)[] =>
  runs.map((run, round) => (baseRuns[round] ? figureOf(run) / figureOf(baseRuns[round]) : null));

/** Rotates the contenders by a round, so that a different contender comes first in each round. */
export function rotated<T>(contenders: readonly T[], round: number): T[] {
  const first = round % contenders.length;
  return [...contenders.slice(first), ...contenders.slice(0, first)];
}
