/** A figure of several rounds. */
export type Spread = { median: number; min: number; max: number };

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = NaN, high = NaN] = [sorted[sorted.length % 2 ? middle : middle - 1], sorted[middle]];
  return (low + high) / 2;
}

/** The median, minimum and maximum; null if no run could measure the figure. */
export function spreadOf(values: (number | null)[]): Spread | null {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return null;
  return { median: median(known), min: Math.min(...known), max: Math.max(...known) };
}

/** The smallest value that `share` (0 to 1) of the values do not exceed; null without values. */
export function percentile(values: number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}
