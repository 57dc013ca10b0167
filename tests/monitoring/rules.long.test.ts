import { dirname, join } from 'node:path';
import { debianProgram } from '../../infra/dev-servers/native/debian-program.ts';
import { mustRun } from '../../infra/dev-servers/native/run.ts';

/** Runs a tool that stands beside the program of a Debian package. */
async function runTool(debianPackage: string, tool: string, ...args: string[]): Promise<string> {
  const report = (line: string) => process.stdout.write(`${line}\n`);
  const program = await debianProgram(report, [debianPackage], '--version');
  const path = join(dirname(program.at(-1) ?? ''), tool);
  const [file = '', ...rest] = [...program.slice(0, -1), path, ...args];
  return mustRun(file, rest);
}
const promtool = (...args: string[]) => runTool('prometheus', 'promtool', ...args);

test('Prometheus accepts the configuration and the rules, and the rules pass their tests', async () => {
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
