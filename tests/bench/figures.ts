/** A figure of several rounds. */
export type Spread = { median: number; min: number; max: number };

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = NaN, high = NaN] = [sorted[sorted.length % 2 ? middle : middle - 1], sorted[middle]];
  return (low + high) / 2;
}

/** The median, minimum and maximum; null if no run could measure the figure. */
export function computeSpread(values: (number | null)[]): Spread | null {
  const known = values.filter((value) => value !== null);
  if (known.length === 0) return null;
  return { median: median(known), min: Math.min(...known), max: Math.max(...known) };
}

/** The smallest value that `share` (0 to 1) of the values do not exceed; null without values. */
export function percentile(values: number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

/** The median of the values, followed by the minimum and the maximum if they differ. */
export function formatted(values: (number | null)[], digits: number): string {
  const spread = computeSpread(values);
  if (!spread) return '–';
  const [middle, min, max] = [spread.median, spread.min, spread.max].map((value) => grouped(value, digits));
  return min === max ? `${middle}` : `${middle} (${min}–${max})`;
}

export const grouped = (value: number, digits = 0): string =>
  value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
