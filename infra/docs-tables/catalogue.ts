import type { Registry } from 'prom-client';

/** A metric as its object declares it. The default labels of a registry are not among `labelNames`. */
export type CataloguedMetric = { name: string; help: string; type: string; labelNames: string[] };

/** The metrics of Node.js that prom-client collects. */
export const isDefaultMetric = ({ name }: { name: string }): boolean => /^(nodejs|process)_/.test(name);

/** The metrics of a registry that are this project's own, by name. */
export const catalogueOf = (registry: Registry): CataloguedMetric[] =>
  (registry.getMetricsAsArray() as unknown as CataloguedMetric[])
    .filter((metric) => !isDefaultMetric(metric))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));

/** The unit of a metric, by the end of its name. A counter without a unit counts the noun in its name. */
const units: [RegExp, string][] = [
  [/_timestamp_seconds$/, 'Unix time, s'],
  [/_seconds$/, 's'],
  [/_bytes$/, 'bytes'],
  [/_total$/, 'count'],
];

/** The unit of a metric, by Prometheus's conventions for names; empty for a number of the noun in the name. */
export const unitOf = ({ name }: Pick<CataloguedMetric, 'name'>): string =>
  units.find(([suffix]) => suffix.test(name))?.[1] ?? '';
