import { parse, stringify } from 'yaml';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { dieWithParent } from '../../infra/dev-servers/parent-death.ts';
import { debianProgram } from '../../infra/dev-servers/native/debian-program.ts';
import { freePorts } from '../../infra/dev-servers/native/ports.ts';
import { startServer } from '../../infra/dev-servers/native/server.ts';

/** The commands of Prometheus and of promtool, which Debian's package `prometheus` holds. */
export async function installPrometheus(): Promise<{ prometheus: string[]; promtool: string[] }> {
  const prometheus = await debianProgram(
    (line) => process.stdout.write(`${line}\n`),
    ['prometheus'],
    '--version',
  );
  const promtool = join(dirname(prometheus.at(-1) ?? ''), 'promtool');
  return { prometheus, promtool: [...prometheus.slice(0, -1), promtool] };
}

type Result = { metric: Record<string, string>; value: [number, string] };
export type RuleState = { name: string; health: string; lastError?: string; state?: string };

/** A Prometheus with the configuration of infra/monitoring, which scrapes these ports of this machine every second. */
export async function startPrometheus(folder: string, ports: { projector: number; api: number }) {
  const { prometheus } = await installPrometheus();
  const [port = 0] = await freePorts(1);
  const text = readFileSync('infra/monitoring/prometheus.yaml', 'utf8').replaceAll('15s', '1s');
  const config = parse(text) as { scrape_configs: { job_name: string }[] };
  const scrapeConfigs = config.scrape_configs.map(({ job_name }) => {
    const port = job_name === 'support-api' ? ports.api : ports.projector;
    return { job_name, static_configs: [{ targets: [`127.0.0.1:${port}`] }] };
  });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'prometheus.yaml'), stringify({ ...config, scrape_configs: scrapeConfigs }));
  copyFileSync('infra/monitoring/alerts.yaml', join(folder, 'alerts.yaml'));
  const [file = '', ...args] = [
    ...dieWithParent(),
    ...prometheus,
    `--config.file=${join(folder, 'prometheus.yaml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const url = `http://127.0.0.1:${port}`;
  const server = await startServer([
    {
      command: {
        name: 'Prometheus',
        file,
        args,
        cwd: folder,
        logFile: join(folder, 'prometheus.log'),
        stopSignal: 'SIGTERM',
      },
      ready: () =>
        fetch(`${url}/-/ready`).then(
          ({ ok }) => ok,
          () => false,
        ),
    },
  ]);
  const read = async <T>(path: string): Promise<T> => {
    const answer = (await (await fetch(url + path)).json()) as { status: string; error?: string; data: T };
    if (answer.status !== 'success') throw new Error(`${path}: ${answer.error}`);
    return answer.data;
  };
  return {
    stop: () => server.stop(),
    /** The series that an expression returns at present. */
    query: async (expr: string): Promise<Result[]> =>
      (await read<{ result: Result[] }>(`/api/v1/query?query=${encodeURIComponent(expr)}`)).result,
    rules: async (): Promise<RuleState[]> =>
      (await read<{ groups: { rules: RuleState[] }[] }>('/api/v1/rules')).groups.flatMap(
        ({ rules }) => rules,
      ),
  };
}
