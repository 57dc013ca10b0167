/** The observations of a histogram with one label value: their number, their sum, and their number up to each bound. */
export type Observed = { count: number; sum: number; upTo: Map<number, number> };

const noObservations = (): Observed => ({ count: 0, sum: 0, upTo: new Map() });

/** Reads a histogram in Prometheus's text format, by the values of one of its labels. */
export function readHistogram(text: string, name: string, label: string): Map<string, Observed> {
  const observed = new Map<string, Observed>();
  const line = new RegExp(`^${name}_(bucket|sum|count)\\{(.*)\\} (.+)$`, 'gm');
  for (const [, part, labels = '', value] of text.matchAll(line)) {
    const labelValue = (key: string) => new RegExp(`\\b${key}="([^"]*)"`).exec(labels)?.[1] ?? '';
    const series = observed.get(labelValue(label)) ?? noObservations();
    observed.set(labelValue(label), series);
    const bound = labelValue('le');
    if (part === 'sum') series.sum = Number(value);
    else if (part === 'count') series.count = Number(value);
    else series.upTo.set(bound === '+Inf' ? Infinity : Number(bound), Number(value));
  }
  return observed;
}

/** The observations between two readings. */
export function observedBetween(before = noObservations(), after = noObservations()): Observed {
  const upTo = new Map<number, number>();
  for (const [bound, count] of after.upTo) upTo.set(bound, count - (before.upTo.get(bound) ?? 0));
  return { count: after.count - before.count, sum: after.sum - before.sum, upTo };
}

/**
 * Estimates a quantile as Prometheus's `histogram_quantile` does, linearly within a bucket. Returns null without
 * observations.
 */
export function quantile({ count, upTo }: Observed, share: number): number | null {
  if (count === 0) return null;
  const rank = share * count;
  let lowerBound = 0;
  let lowerCount = 0;
  for (const [bound, boundCount] of upTo) {
    if (boundCount >= rank) {
      if (bound === Infinity) return lowerBound;
      return lowerBound + ((bound - lowerBound) * (rank - lowerCount)) / (boundCount - lowerCount);
    }
    lowerBound = bound;
    lowerCount = boundCount;
  }
  return null;
}
