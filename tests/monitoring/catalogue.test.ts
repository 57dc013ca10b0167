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
  await eventually(async () => (await metricsOf('projector')).includes('projector_applied_offset{'));
  await get(services.api, '/v1/tickets');
});
afterAll(() => services.api.stop());

async function metricsOf(name: keyof typeof services): Promise<string> {
  const { port } = await services[name].logged('admin server listening');
  return (await fetch(`http://127.0.0.1:${String(port)}/metrics`)).text();
}

/** The metrics of a page in Prometheus's text format. */
function metricsIn(text: string) {
  const help = new Map([...text.matchAll(/^# HELP (\w+) (.*)$/gm)].map(([, name, line]) => [name, line]));
  return [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)]
    .map(([, name = '', type]) => ({ name, type, help: help.get(name) }))
    .filter((metric) => !isDefaultMetric(metric))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

test.each(['projector', 'api'] as const)('the catalogue has the metrics that the %s serves', async (name) => {
  const text = await metricsOf(name);
  const catalogued = metricCatalogues()[name];
  expect(metricsIn(text)).toEqual(
    catalogued.map(({ name: metric, type, help }) => ({ name: metric, type, help })),
  );
  // then each metric has the catalogue's labels, because the services have counted something for each metric
  for (const { name: metric, labelNames } of catalogued) {
    const labels = new Set(
      [...text.matchAll(new RegExp(`^${metric}(?:_bucket|_sum|_count)?\\{(.*)\\} `, 'gm'))].flatMap(
        ([, list = '']) => [...list.matchAll(/(\w+)="/g)].map(([, label]) => label),
      ),
    );
    const ownLabels = [...labels].filter((label) => label !== 'generation' && label !== 'le');
    expect({ metric, labels: ownLabels.toSorted() }).toEqual({ metric, labels: labelNames.toSorted() });
  }
});
