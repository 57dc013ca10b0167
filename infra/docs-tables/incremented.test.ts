import { glob, readFile } from 'node:fs/promises';
import { Counter } from 'prom-client';
import { createMetrics as createApiMetrics } from '../../services/api/metrics.ts';
import { createMetrics as createProjectorMetrics } from '../../services/projector/metrics.ts';
import { metricCatalogues } from './tables.ts';

/** The counters of a service, with their names in the code, such as `tracesLost`. */
const countersOf = (metrics: object): [name: string, counter: Counter][] =>
  Object.entries(metrics).filter((entry): entry is [string, Counter] => entry[1] instanceof Counter);

const counters = { api: countersOf(createApiMetrics()), projector: countersOf(createProjectorMetrics()) };
const metricNameOf = (counter: Counter) => (counter as unknown as { name: string }).name;

/** The production code of a service, without the file that declares its metrics and sets them to 0. */
async function sourceOf(service: string): Promise<string> {
  const isUse = (path: string) => !path.endsWith('.test.ts') && path !== `services/${service}/metrics.ts`;
  const paths = await Array.fromAsync(glob(`services/${service}/**/*.ts`));
  const sources = await Promise.all(paths.filter(isUse).map((path) => readFile(path, 'utf8')));
  return sources.join('\n');
}

/** The text that the first group of the pattern matches, for each match. */
const firstGroups = (source: string, pattern: string): string[] =>
  Array.from(source.matchAll(new RegExp(pattern, 'g')), ([, group = '']) => group);

/**
 * The names under which the code uses a counter: its own name, and the names under which the code passes it on, as in
 * `lost: metrics.tracesLost`.
 */
const aliasesOf = (name: string, source: string): string[] => [
  name,
  ...firstGroups(source, `(\\w+)(?::| =) metrics\\.${name}\\b`),
];

/** The callbacks that only increment a counter, as in `onLost: () => metrics.lost.inc()`. */
const callbacksOf = (name: string, source: string): string[] =>
  firstGroups(source, `(\\w+): \\([^()]*\\) => metrics\\.${name}\\.inc\\(`);

// A counter that nothing increments is exported as 0 for ever, and its alert never fires.
describe.each(['api', 'projector'] as const)('the %s', (service) => {
  test.each(counters[service].map(([name]) => name))('increments %s', async (name) => {
    const source = await sourceOf(service);
    const isIncremented = (alias: string) => new RegExp(`\\b${alias}\\??\\.inc\\(`).test(source);
    expect(aliasesOf(name, source).filter(isIncremented)).not.toEqual([]);
    const isCalled = (callback: string) => new RegExp(`\\b${callback}(\\?\\.)?\\(`).test(source);
    expect(callbacksOf(name, source).filter((callback) => !isCalled(callback))).toEqual([]);
  });
});

test('every other catalogued counter counts when it is read', () => {
  const allCounters = Object.values(counters).flat();
  const incrementedNames = allCounters.map(([, counter]) => metricNameOf(counter));
  const { api, projector } = metricCatalogues();
  const catalogue = [...api, ...projector].filter(({ type }) => type === 'counter');
  const notIncremented = catalogue.filter(({ name }) => !incrementedNames.includes(name));
  expect(notIncremented.filter((metric) => !('collect' in metric))).toEqual([]);
  expect(incrementedNames.length).toBeGreaterThan(10);
});
