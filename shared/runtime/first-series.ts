import type { Counter, Gauge } from 'prom-client';

/**
 * The labels of a counter; `never` for any other metric, and for a counter without labels, which begins at 0 by itself.
 */
type LabelsOf<Metric> =
  Metric extends Gauge<never>
    ? never
    : Metric extends Counter<infer L>
      ? string extends L
        ? never
        : L
      : never;

/** The series that each labelled counter of a service begins with: their labels, by the counter's name in the code. */
export type FirstSeries<Metrics> = {
  [Name in keyof Metrics as [LabelsOf<Metrics[Name]>] extends [never] ? never : Name]: Record<
    LabelsOf<Metrics[Name]>,
    string
  >[];
};

/**
 * Begins these series at 0. Otherwise Prometheus would miss the first event, because a series that begins at 1 has no
 * increase.
 */
export function beginAtZero<Metrics extends object>(metrics: Metrics, series: FirstSeries<Metrics>): void {
  for (const [name, labels] of Object.entries(series) as [keyof Metrics, Record<string, string>[]][]) {
    for (const seriesLabels of labels) (metrics[name] as Counter).inc(seriesLabels, 0);
  }
}
