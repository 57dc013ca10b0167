import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { promtool } from '../monitoring/tools.ts';
import { useFolder } from '../support/use-opened.ts';
import { named, parseManifests, useChart, type Values } from './chart.ts';
import { everything, required } from './example-values.ts';

type Rule = {
  /** Absent for a rule that records a series. */
  alert?: string;
  expr: string;
  labels: object;
  annotations?: { runbook_url: string };
};
type Rules = { groups: { name: string; rules: Rule[] }[] };

const chart = useChart();
const folder = useFolder();

const withRules: Values = { ...required, prometheusRule: { enabled: true } };

/** The rules of a release, as the Prometheus Operator passes them to Prometheus. */
async function rulesOf(namespace: string, release: string, values: Values = withRules): Promise<Rules> {
  const manifests = parseManifests(await chart.template(values, { namespace, release }));
  return named(manifests, 'PrometheusRule', release)?.spec as unknown as Rules;
}

const allRules = ({ groups }: Rules): Rule[] => groups.flatMap(({ rules }) => rules);

const originalRules = allRules(parse(readFileSync('infra/monitoring/alerts.yaml', 'utf8')) as Rules);

test('each selector of each rule names the namespace and the release', async () => {
  const rules = allRules(await rulesOf('prod', 'support'));
  expect(rules).toHaveLength(originalRules.length);
  const release = '{namespace="prod",service=~"support-(projector|api)-admin"';
  const metricAndSelector = /\b((api|projector|support)_[a-z_]+|support:[a-z_:]+|kube_[a-z_]+|up)\b.{0,65}/g;
  for (const { expr, labels } of rules) {
    expect(labels).toMatchObject({ namespace: 'prod', release: 'support' });
    const selectors = expr.match(metricAndSelector) ?? [];
    expect(selectors.length).toBeGreaterThan(0);
    for (const selector of selectors) {
      const scope = /^(support:|kube_)/.test(selector) ? '{namespace="prod"' : release;
      expect(selector).toMatch(/^[a-z_:]+\{/);
      expect(selector).toContain(scope);
    }
  }
});

test('the values decide the addresses of runbooks and the disabled rules', async () => {
  const rules = allRules(await rulesOf('prod', 'support', everything));
  const alerts = rules.filter(({ alert }) => alert !== undefined);
  expect(alerts.map(({ alert }) => alert)).not.toContain('SupportLateEvents');
  expect(alerts.length).toBeGreaterThan(10);
  for (const { alert, annotations } of alerts) {
    const original = originalRules.find((rule) => rule.alert === alert);
    const page = original?.annotations?.runbook_url.replace('docs/runbooks/', '');
    const address = `https://git.example.com/support/docs/runbooks/${page}`;
    expect(annotations).toMatchObject({ runbook_url: address });
  }
});

test('the dashboard shows only the series of the release', async () => {
  const manifests = parseManifests(await chart.template(everything));
  const dashboard = named(manifests, 'ConfigMap', 'support-dashboard');
  expect(dashboard?.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
  const text = dashboard?.data?.['prod-support.json'] ?? '';
  type Panel = { targets?: { expr: string }[] };
  const { title, panels } = JSON.parse(text) as { title: string; panels: Panel[] };
  expect(title).toBe('Support read models: prod/support');
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  expect(expressions.length).toBeGreaterThan(20);
  for (const expr of expressions) expect(expr).toContain('namespace="prod"');
  const rules = expressions.map((expr, index) => ({
    record: `panel:${index}`,
    expr: expr.replaceAll('$__rate_interval', '5m'),
  }));
  const file = write('dashboard.yaml', { groups: [{ name: 'panels', rules }] });
  await expect(promtool('check', 'rules', file)).resolves.toContain('SUCCESS');
});

/** Two releases in one namespace, and a release of the same name in a second namespace. */
const releases = [
  ['prod', 'support'],
  ['prod', 'second'],
  ['staging', 'support'],
] as const;

type Series = { series: string; values: string };
const labelled = (metric: string, namespace: string, release: string, service: string, more = '') =>
  `${metric}{job="support-${service}",namespace="${namespace}",service="${release}-${service}-admin"${more}}`;

/** The series of healthy releases, with `broken` in place of the series of the same name. */
function seriesWith(broken: Series[]): Series[] {
  const healthy = releases.flatMap(([namespace, release]) => [
    { series: labelled('up', namespace, release, 'projector'), values: '1+0x120' },
    { series: labelled('up', namespace, release, 'api'), values: '1+0x120' },
    { series: labelled('api_ready', namespace, release, 'api'), values: '1+0x120' },
    { series: labelled('api_data_age_seconds', namespace, release, 'api'), values: '6+0x120' },
  ]);
  const replaced = new Set(broken.map(({ series }) => series));
  return [...healthy.filter(({ series }) => !replaced.has(series)), ...broken];
}

const write = (name: string, value: object) => {
  const path = join(folder.path, name);
  writeFileSync(path, stringify(value));
  return path;
};

type AlertCase = { what: string; broken: Series; alerts: { name: string; severity: 'page' | 'ticket' }[] };

test.each<AlertCase>([
  {
    what: 'projectors that are down in prod, while those of staging and of another release run',
    broken: { series: labelled('up', 'prod', 'support', 'projector'), values: '0+0x120' },
    alerts: [{ name: 'SupportServiceAbsent', severity: 'page' }],
  },
  {
    what: 'an API of prod that is not ready, while the others are',
    broken: { series: labelled('api_ready', 'prod', 'support', 'api'), values: '0+0x120' },
    alerts: [{ name: 'SupportStoreErrors', severity: 'page' }],
  },
  {
    what: 'old data only of prod',
    broken: { series: labelled('api_data_age_seconds', 'prod', 'support', 'api'), values: '6+15x120' },
    alerts: [
      { name: 'SupportDataStale', severity: 'page' },
      { name: 'SupportDataStale', severity: 'ticket' },
      { name: 'SupportKeyRevocationLate', severity: 'page' },
    ],
  },
  {
    what: "a failed Job of another application, whose name only looks like the chart's",
    broken: {
      series: 'kube_job_failed{condition="true",namespace="billing",job_name="backup-verify-289"}',
      values: '1+0x120',
    },
    alerts: [],
  },
  {
    what: 'a failed Job of the release',
    broken: {
      series: 'kube_job_failed{condition="true",namespace="prod",job_name="support-verify-289"}',
      values: '1+0x120',
    },
    alerts: [{ name: 'SupportVerifyFailed', severity: 'ticket' }],
  },
])(
  'of three releases in one Prometheus, only the affected one alerts for $what',
  async ({ broken, alerts }) => {
    const files = [];
    for (const [namespace, release] of releases) {
      files.push(write(`${namespace}-${release}.yaml`, await rulesOf(namespace, release)));
    }
    const firing = 'count by (alertname, namespace, release, severity) (ALERTS{alertstate="firing"})';
    const expected = alerts.map(({ name, severity }) => {
      const labels = `{alertname="${name}",namespace="prod",release="support",severity="${severity}"}`;
      return { labels, value: 1 };
    });
    const tests = write('tests.yaml', {
      rule_files: files,
      evaluation_interval: '15s',
      tests: [
        {
          interval: '15s',
          input_series: seriesWith([broken]),
          promql_expr_test: [{ eval_time: '30m', expr: firing, exp_samples: expected }],
        },
      ],
    });
    await expect(promtool('check', 'rules', ...files)).resolves.toContain('SUCCESS');
    await expect(promtool('test', 'rules', tests)).resolves.toContain('SUCCESS');
  },
);
