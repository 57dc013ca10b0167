import { isDefaultMetric } from '../../infra/docs-tables/catalogue.ts';
import { metricCatalogues } from '../../infra/docs-tables/tables.ts';
import { useServices } from './use-services.ts';

const { ports } = useServices();

/** The metrics of a page in Prometheus's text format. */
function metricsIn(text: string) {
  const help = new Map([...text.matchAll(/^# HELP (\w+) (.*)$/gm)].map(([, name, line]) => [name, line]));
  return [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)]
    .map(([, name = '', type]) => ({ name, type, help: help.get(name) }))
    .filter((metric) => !isDefaultMetric(metric))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

test.each(['projector', 'api'] as const)('the catalogue has the metrics that the %s serves', async (name) => {
  const text = await (await fetch(`http://127.0.0.1:${(await ports())[name]}/metrics`)).text();
  const catalogued = metricCatalogues()[name];
  expect(metricsIn(text)).toEqual(
    catalogued.map(({ name: metric, type, help }) => ({ name: metric, type, help })),
  );
  // and with the labels that the catalogue has
  for (const { name: metric, labelNames } of catalogued) {
    const labels = new Set(
      [...text.matchAll(new RegExp(`^${metric}(?:_bucket|_sum|_count)?\\{(.*)\\} `, 'gm'))].flatMap(
        ([, list = '']) => [...list.matchAll(/(\w+)="/g)].map(([, label]) => label),
      ),
    );
    const others = [...labels].filter((label) => label !== 'generation' && label !== 'le');
    if (labels.size > 0) expect([metric, others.toSorted()]).toEqual([metric, labelNames.toSorted()]);
  }
});
