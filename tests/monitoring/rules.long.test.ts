import { promtool, runTool } from './tools.ts';

test('Prometheus accepts the configuration and the tested rules', async () => {
  expect(await promtool('check', 'config', 'infra/monitoring/prometheus.yaml')).toContain('SUCCESS');
  expect(await promtool('check', 'rules', '--lint-fatal', 'infra/monitoring/alerts.yaml')).toContain(
    'SUCCESS',
  );
  expect(await promtool('test', 'rules', 'infra/monitoring/alerts.test.yaml')).toContain('SUCCESS');
});

test('Alertmanager accepts the inhibition rules', async () => {
  const checked = runTool(
    'prometheus-alertmanager',
    'amtool',
    'check-config',
    'infra/monitoring/alertmanager.yaml',
  );
  expect(await checked).toContain('SUCCESS');
});
