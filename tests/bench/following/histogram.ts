/** The observations of a histogram with one label value: how many, their sum, and how many up to each bound. */
export type Observed = { count: number; sum: number; upTo: Map<number, number> };

const none = (): Observed => ({ count: 0, sum: 0, upTo: new Map() });

/** Reads a histogram in Prometheus's text format, by the values of one of its labels. */
export function readHistogram(text: string, name: string, label: string): Map<string, Observed> {
  const observed = new Map<string, Observed>();
  const line = new RegExp(`^${name}_(bucket|sum|count)\\{(.*)\\} (.+)$`, 'gm');
  for (const [, part, labels = '', value] of text.matchAll(line)) {
    const of = (key: string) => new RegExp(`\\b${key}="([^"]*)"`).exec(labels)?.[1] ?? '';
    const one = observed.get(of(label)) ?? none();
    observed.set(of(label), one);
    if (part === 'sum') one.sum = Number(value);
    else if (part === 'count') one.count = Number(value);
    else one.upTo.set(of('le') === '+Inf' ? Infinity : Number(of('le')), Number(value));
  }
  return observed;
}

/** The observations between two readings. */
export function since(before: Observed = none(), after: Observed = none()): Observed {
  const upTo = [...after.upTo].map(
    ([bound, count]) => [bound, count - (before.upTo.get(bound) ?? 0)] as const,
  );
  return { count: after.count - before.count, sum: after.sum - before.sum, upTo: new Map(upTo) };
}

/** As Prometheus's `histogram_quantile`: linear within a bucket; null without observations. */
export function quantile({ count, upTo }: Observed, share: number): number | null {
  let lower = 0;
  let below = 0;
  for (const [bound, within] of upTo) {
    if (within >= share * count && count > 0) {
      if (bound === Infinity) return lower;
      return lower + ((bound - lower) * (share * count - below)) / (within - below);
    }
    lower = bound;
    below = within;
  }
  return null;
}
