import type { Registry } from 'prom-client';

/** A metric of prom-client. `labelNames` does not contain the default labels, which the registry adds. */
export type CataloguedMetric = { name: string; help: string; type: string; labelNames: string[] };

/** The metrics of Node.js that prom-client collects. */
export const isDefaultMetric = ({ name }: { name: string }): boolean => /^(nodejs|process)_/.test(name);

/** The metrics of a registry that are this project's own, by name. */
export const catalogueOf = (registry: Registry): CataloguedMetric[] =>
  (registry.getMetricsAsArray() as unknown as CataloguedMetric[])
    .filter((metric) => !isDefaultMetric(metric))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** The unit by the end of a metric's name. The first match wins, so the longer suffix comes first. */
const units: [RegExp, string][] = [
  [/_timestamp_seconds$/, 'Unix time, s'],
  [/_seconds$/, 's'],
  [/_bytes$/, 'bytes'],
  [/_total$/, 'count'],
];

/** The unit of a metric, by Prometheus's conventions. Empty for a plain number, such as `api_reads_waiting`. */
export const unitOf = ({ name }: Pick<CataloguedMetric, 'name'>): string =>
  units.find(([suffix]) => suffix.test(name))?.[1] ?? '';
