import { isDefaultMetric } from '../../infra/docs-tables/catalogue.ts';
import { metricCatalogues } from '../../infra/docs-tables/tables.ts';
import { type Service, startService } from '../../infra/service.ts';
import { apiSettings, get } from '../support/api-process.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { useProjector } from '../support/use-projector.ts';

const services = {} as Record<'projector' | 'api', Service>;
const { environment, startProcess, publish, applied } = useProjector({ projectors: 0 });

beforeAll(async () => {
  services.projector = startProcess({ ADMIN_PORT: '0' });
  services.api = startService('api', { ...apiSettings(environment.variables), ADMIN_PORT: '0' });
  await publish(created('message', 'msg_1'));
  await applied();
  // A run of the commit loop saves progress before it sets the gauges.
  await eventually(async () => {
    const metrics = await metricsOf('projector');
    return metrics.includes('projector_applied_offset{');
  });
  await get(services.api, '/v1/tickets');
});
afterAll(() => services.api.stop());

async function metricsOf(name: keyof typeof services): Promise<string> {
  const { port } = await services[name].logged('admin server listening');
  const response = await fetch(`http://127.0.0.1:${String(port)}/metrics`);
  return response.text();
}

/** The metrics of a page in Prometheus's text format, by name. Leaves out those of Node. */
function metricsIn(text: string) {
  const helpOf = new Map<string, string>();
  for (const [, name = '', help = ''] of text.matchAll(/^# HELP (\w+) (.*)$/gm)) helpOf.set(name, help);
  const metrics = [];
  for (const [, name = '', type] of text.matchAll(/^# TYPE (\w+) (\w+)$/gm))
    metrics.push({ name, type, help: helpOf.get(name) });
  const ownMetrics = metrics.filter((metric) => !isDefaultMetric(metric));
  return ownMetrics.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** The names of the labels of a metric's samples. */
function labelsIn(text: string, metric: string): Set<string> {
  const labels = new Set<string>();
  const samples = new RegExp(`^${metric}(?:_bucket|_sum|_count)?\\{(.*)\\} `, 'gm');
  for (const [, list = ''] of text.matchAll(samples)) {
    for (const [, label = ''] of list.matchAll(/(\w+)="/g)) labels.add(label);
  }
  return labels;
}

test.each(['projector', 'api'] as const)('the catalogue has the metrics that the %s serves', async (name) => {
  const text = await metricsOf(name);
  const catalogued = metricCatalogues()[name];
  expect(metricsIn(text)).toEqual(
    catalogued.map(({ name: metric, type, help }) => ({ name: metric, type, help })),
  );
  // then each metric has the catalogue's labels, because the services have counted something for each metric
  for (const { name: metric, labelNames } of catalogued) {
    const labels = labelsIn(text, metric);
    const ownLabels = [...labels].filter((label) => label !== 'generation' && label !== 'le');
    expect({ metric, labels: ownLabels.toSorted() }).toEqual({ metric, labels: labelNames.toSorted() });
  }
});
