import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { promtool } from '../monitoring/tools.ts';
import { useFolder } from '../support/use-opened.ts';
import { named, parseManifests, useChart, type Values } from './chart.ts';
import { everything, required } from './example-values.ts';

type Rule = { alert?: string; record?: string; expr: string; labels: object; annotations?: object };
type Rules = { groups: { name: string; rules: Rule[] }[] };

const chart = useChart();
const folder = useFolder();

const withRules: Values = { ...required, prometheusRule: { enabled: true } };

/** The rules of a release, as the Prometheus Operator passes them to Prometheus. */
async function rulesOf(namespace: string, release: string, values: Values = withRules): Promise<Rules> {
  const manifests = parseManifests(await chart.template(values, { namespace, release }));
  return named(manifests, 'PrometheusRule', release)?.spec as unknown as Rules;
}

const originalFile = parse(readFileSync('infra/monitoring/alerts.yaml', 'utf8')) as Rules;

test('each selector of each rule names the namespace and the release', async () => {
  const { groups } = await rulesOf('prod', 'support');
  const rules = groups.flatMap((group) => group.rules);
  expect(rules).toHaveLength(originalFile.groups.flatMap((group) => group.rules).length);
  const release = '{namespace="prod",service=~"support-(projector|api)-admin"';
  for (const { expr, labels } of rules) {
    expect(labels).toMatchObject({ namespace: 'prod', release: 'support' });
    const selectors = expr.match(
      /\b((api|projector|support)_[a-z_]+|support:[a-z_:]+|kube_[a-z_]+|up)\b.{0,65}/g,
    );
    expect(selectors?.length).toBeGreaterThan(0);
    for (const selector of selectors ?? []) {
      const scope = /^(support:|kube_)/.test(selector) ? '{namespace="prod"' : release;
      expect(selector).toMatch(/^[a-z_:]+\{/);
      expect(selector).toContain(scope);
    }
  }
});

test('the values decide the addresses of runbooks and the disabled rules', async () => {
  const { groups } = await rulesOf('prod', 'support', everything);
  const rules = groups.flatMap((group) => group.rules);
  const originalRules = originalFile.groups.flatMap((group) => group.rules);
  expect(rules.map(({ alert }) => alert)).not.toContain('SupportLateEvents');
  for (const { alert, annotations } of rules) {
    if (!alert) continue;
    const original = originalRules.find((rule) => rule.alert === alert)?.annotations as {
      runbook_url: string;
    };
    const path = original.runbook_url.replace('docs/runbooks/', '');
    expect(annotations).toMatchObject({
      runbook_url: `https://git.example.com/support/docs/runbooks/${path}`,
    });
  }
});

test('the dashboard shows only the series of the release', async () => {
  const manifests = parseManifests(await chart.template(everything));
  const dashboard = named(manifests, 'ConfigMap', 'support-dashboard');
  expect(dashboard?.metadata.labels).toMatchObject({ grafana_dashboard: '1' });
  const text = dashboard?.data?.['prod-support.json'] ?? '';
  const { title, panels } = JSON.parse(text) as { title: string; panels: { targets?: { expr: string }[] }[] };
  expect(title).toBe('Support read models: prod/support');
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  expect(expressions.length).toBeGreaterThan(20);
  for (const expr of expressions) expect(expr).toContain('namespace="prod"');
  const rules = expressions.map((expr, index) => ({
    record: `panel:${index}`,
    expr: expr.replaceAll('$__rate_interval', '5m'),
  }));
  await expect(
    promtool('check', 'rules', write('dashboard.yaml', { groups: [{ name: 'panels', rules }] })),
  ).resolves.toContain('SUCCESS');
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

test.each<[string, Series, string[]]>([
  [
    'projectors that are down in prod, while those of staging and of another release run',
    { series: labelled('up', 'prod', 'support', 'projector'), values: '0+0x120' },
    ['SupportServiceAbsent'],
  ],
  [
    'an API of prod that is not ready, while the others are',
    { series: labelled('api_ready', 'prod', 'support', 'api'), values: '0+0x120' },
    ['SupportStoreErrors'],
  ],
  [
    'old data only of prod',
    { series: labelled('api_data_age_seconds', 'prod', 'support', 'api'), values: '6+15x120' },
    ['SupportDataStale', 'SupportDataStale', 'SupportKeyRevocationLate'],
  ],
  [
    "a failed Job of another application, whose name only looks like the chart's",
    {
      series: 'kube_job_failed{condition="true",namespace="billing",job_name="backup-verify-289"}',
      values: '1+0x120',
    },
    [],
  ],
  [
    'a failed Job of the release',
    {
      series: 'kube_job_failed{condition="true",namespace="prod",job_name="support-verify-289"}',
      values: '1+0x120',
    },
    ['SupportVerifyFailed'],
  ],
])('of three releases in one Prometheus, only the affected one alerts for %s', async (_, broken, alerts) => {
  const files = [];
  for (const [namespace, release] of releases) {
    files.push(write(`${namespace}-${release}.yaml`, await rulesOf(namespace, release)));
  }
  const firing = 'count by (alertname, namespace, release, severity) (ALERTS{alertstate="firing"})';
  const expected = alerts.map((alertname, index) => {
    const severity =
      alertname === 'SupportVerifyFailed' || (index === 1 && alertname === alerts[0]) ? 'ticket' : 'page';
    const labels = `{alertname="${alertname}",namespace="prod",release="support",severity="${severity}"}`;
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
});
