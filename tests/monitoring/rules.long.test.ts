import { dirname, join } from 'node:path';
import { debianProgram } from '../../infra/dev-servers/native/debian-program.ts';
import { mustRun } from '../../infra/dev-servers/native/run.ts';

/** Runs promtool, which Debian's package `prometheus` holds. */
async function promtool(...args: string[]): Promise<string> {
  const report = (line: string) => process.stdout.write(`${line}\n`);
  const prometheus = await debianProgram(report, ['prometheus'], '--version');
  const tool = join(dirname(prometheus.at(-1) ?? ''), 'promtool');
  const [file = '', ...rest] = [...prometheus.slice(0, -1), tool, ...args];
  return mustRun(file, rest);
}

test('Prometheus accepts the configuration and the rules, and the rules pass their tests', async () => {
  expect(await promtool('check', 'config', 'infra/monitoring/prometheus.yaml')).toContain('SUCCESS');
  expect(await promtool('test', 'rules', 'infra/monitoring/alerts.test.yaml')).toContain('SUCCESS');
}, 300_000);
