import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { isDefaultMetric } from '../docs-tables/catalogue.ts';
import { metricCatalogues } from '../docs-tables/tables.ts';
import { dashboardJson } from './dashboard.ts';
import { rows } from './panels.ts';

type Alert = {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
};
type Rules = { groups: { rules: (Alert | { record: string; expr: string })[] }[] };
type RuleTests = { tests: { alert_rule_test?: { alertname: string; exp_alerts: unknown[] }[] }[] };

const readYaml = (path: string): unknown => parse(readFileSync(path, 'utf8'));

const rules = (readYaml('infra/monitoring/alerts.yaml') as Rules).groups.flatMap((group) => group.rules);
const alerts = rules.filter((rule) => 'alert' in rule);

/** The names of this project's metrics in an expression, without the suffixes of histograms. */
function metricsIn(expr: string): string[] {
  const series = expr.match(/\b(?:(?:api|projector|support)_[a-z_]+|support:[a-z_:]+)\b/g) ?? [];
  const names = series.map((name) => name.replace(/_(bucket|count|sum)$/, ''));
  return names.filter((name) => !isDefaultMetric({ name }));
}

const knownMetrics = (): string[] => [
  ...Object.values(metricCatalogues()).flatMap((metrics) => metrics.map(({ name }) => name)),
  ...rules.flatMap((rule) => ('record' in rule ? [rule.record] : [])),
];

test('the rules and the dashboard use metrics that the services have', () => {
  const panels = Object.values(rows).flat();
  const queries = panels.flatMap((panel) => panel.queries);
  const exprs = [...rules.map(({ expr }) => expr), ...queries.map(([expr]) => expr)];
  const usedMetrics = exprs.flatMap(metricsIn);
  const exportedMetrics = knownMetrics();
  expect(usedMetrics.filter((name) => !exportedMetrics.includes(name))).toEqual([]);
  expect(new Set(usedMetrics).size).toBeGreaterThan(20);
});

test('the dashboard shows every metric except these', () => {
  const shownMetrics = metricsIn(dashboardJson());
  const missingMetrics = knownMetrics().filter((name) => !shownMetrics.includes(name));
  expect([...new Set(missingMetrics)].toSorted()).toEqual([
    'api_log_gap_timestamp_seconds',
    'projector_applied_offset',
    'projector_max_lag_seconds',
    'support_build_info',
  ]);
});

test('every alert names its severity, and a runbook with the four parts', () => {
  expect(alerts.length).toBeGreaterThan(10);
  for (const { alert, labels, annotations } of alerts) {
    expect(['page', 'ticket']).toContain(labels.severity);
    // `SupportDataStale` has the runbook data-stale.md.
    const name = alert.replace(/^Support/, '').replaceAll(/(?<=.)[A-Z]/g, (capital) => `-${capital}`);
    const path = `docs/runbooks/${name.toLowerCase()}.md`;
    expect({ alert, runbookUrl: annotations.runbook_url }).toEqual({ alert, runbookUrl: path });
    const runbook = readFileSync(path, 'utf8');
    const headings = Array.from(runbook.matchAll(/^## (.+)$/gm), ([, heading]) => heading);
    expect({ path, headings }).toEqual({ path, headings: ['Meaning', 'Impact', 'Check', 'Fix'] });
  }
});

test('the inhibition rules name alerts and never suppress the page for an absent API', () => {
  const { inhibit_rules } = readYaml('infra/monitoring/alertmanager.yaml') as {
    inhibit_rules: { source_matchers: string[]; target_matchers: string[] }[];
  };
  const matchers = inhibit_rules.flatMap((rule) => [...rule.source_matchers, ...rule.target_matchers]);
  const namedAlerts = matchers.join('\n').match(/Support\w+/g) ?? [];
  expect(namedAlerts.length).toBeGreaterThan(5);
  expect(namedAlerts.filter((name) => !alerts.some(({ alert }) => alert === name))).toEqual([]);
  const targets = inhibit_rules.map(({ target_matchers }) => target_matchers);
  const ofAbsence = targets.filter((target) => target.join().includes('SupportServiceAbsent'));
  expect(ofAbsence).toEqual([['alertname = SupportServiceAbsent', 'service = projector']]);
});

test('each alert on the increase of a counter also sees a series that begins above 0', () => {
  // `increase` is 0 if a counter first appears with its final value, so the alert would never fire.
  const onIncrease = alerts.filter(({ expr }) => expr.includes('increase('));
  expect(onIncrease.length).toBeGreaterThan(4);
  const unguarded = onIncrease.filter(({ expr }) => {
    const [, counter = '', window = ''] = /increase\(([^[]+)\[(\w+)\]\)/.exec(expr) ?? [];
    return !expr.includes(`or (${counter} > 0 unless ${counter} offset ${window})`);
  });
  expect(unguarded.map(({ alert }) => alert)).toEqual([]);
});

test('alerts.test.yaml has series on which each alert fires', () => {
  const { tests } = readYaml('infra/monitoring/alerts.test.yaml') as RuleTests;
  const tested = tests.flatMap(({ alert_rule_test = [] }) => alert_rule_test);
  const fired = tested.flatMap(({ alertname, exp_alerts }) => (exp_alerts.length > 0 ? [alertname] : []));
  expect(alerts.filter(({ alert }) => !fired.includes(alert))).toEqual([]);
});

test('dashboard.json has the content of dashboard.ts (`npm run docs` writes it)', () => {
  expect(readFileSync('infra/monitoring/dashboard.json', 'utf8')).toBe(dashboardJson());
});
