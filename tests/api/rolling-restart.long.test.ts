import { writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { dieWithParent } from '../../infra/dev-servers/parent-death.ts';
import { debianProgram } from '../../infra/dev-servers/native/debian-program.ts';
import { answers, freePorts } from '../../infra/dev-servers/native/ports.ts';
import { startServer, type Server } from '../../infra/dev-servers/native/server.ts';
import { eventually } from '../support/eventually.ts';
import { useApiProcesses, type ApiProcess } from './api-processes.ts';
import * as build from './builders.ts';
import { host } from './raw-socket.ts';
import { begin, textOf } from './requests.ts';

type Replica = { port: number; adminPort: number };

const clients = 16;
const children = useApiProcesses({ ticket: [build.ticket({ id: 'ti_1' })] });
let replicas: Replica[];
let proxyPort: number;
let proxy: Server;

beforeAll(async () => {
  const [port = 0, ...ports] = await freePorts(5);
  proxyPort = port;
  replicas = [0, 2].map((index) => ({ port: ports[index] ?? 0, adminPort: ports[index + 1] ?? 0 }));
  const program = await debianProgram((line) => process.stdout.write(`${line}\n`), ['haproxy'], '-v');
  proxy = await startServer([haproxy(program)]);
}, 300_000);

afterAll(() => proxy.stop());

/** The configuration that docs/run.md describes. No setting makes the proxy repeat a request that was sent. */
function haproxy(program: string[]) {
  const file = join(children.folder, 'haproxy.cfg');
  const servers = replicas.map(
    ({ port, adminPort }, index) =>
      `  server api${index} ${host}:${port} check port ${adminPort} inter 1s fall 1 rise 1`,
  );
  const lines = [
    'defaults',
    '  mode http',
    '  timeout connect 2s',
    '  timeout client 30s',
    '  timeout server 30s',
    '  timeout check 4s',
    '  retries 0',
    'listen api',
    `  bind ${host}:${proxyPort}`,
    '  option httpchk GET /readyz',
    '  http-request set-header X-Forwarded-Proto https',
    ...servers,
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  const [name = '', ...args] = [...dieWithParent(), ...program, '-f', file, '-db'];
  return {
    command: {
      name: 'HAProxy',
      file: name,
      args,
      cwd: children.folder,
      logFile: join(children.folder, 'haproxy.log'),
      stopSignal: 'SIGTERM' as const,
    },
    ready: () => answers(proxyPort),
  };
}

async function start({ port, adminPort }: Replica): Promise<ApiProcess> {
  const child = await children.start({
    API_PORT: String(port),
    ADMIN_PORT: String(adminPort),
    API_TRUSTED_PROXIES: host,
    RATE_LIMIT_REQUESTS: '0',
    SHUTDOWN_DELAY_SECONDS: '5',
  });
  await child.logged('ready');
  return child;
}

/** Sends one request through the proxy; resolves with 200, or with the reason why it failed. */
async function ask(agent: Agent): Promise<number | string> {
  try {
    const response = await begin({ port: proxyPort, isTls: false }, '/v1/tickets/ti_1', { agent });
    const text = await textOf(response);
    return response.statusCode === 200 ? 200 : text;
  } catch (error) {
    return (error as Error).message;
  }
}

it('a rolling restart of two replicas loses no request of clients with open connections', async () => {
  const running = await Promise.all(replicas.map(start));
  const agent = new Agent({ keepAlive: true, maxSockets: clients });
  await eventually(async () => (await ask(agent)) === 200);
  const outcomes = new Map<number | string, number>();
  let isDone = false;
  const asking = Array.from({ length: clients }, async () => {
    while (!isDone) {
      const outcome = await ask(agent);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  });
  const served = () => outcomes.get(200) ?? 0;
  const restarts: { code: number | string; servedMeanwhile: boolean }[] = [];
  for (const [index, replica] of replicas.entries()) {
    const before = served();
    const code = await running[index]?.stop();
    restarts.push({ code: code ?? 'none', servedMeanwhile: served() > before });
    // The other one stops once the proxy sends requests to the new one.
    const started = await start(replica);
    await started.logged('request');
  }
  isDone = true;
  await Promise.all(asking);
  agent.destroy();
  process.stdout.write(`${served()} requests served during two restarts\n`);
  expect([...outcomes.keys()]).toEqual([200]);
  expect(restarts).toEqual(replicas.map(() => ({ code: 0, servedMeanwhile: true })));
});
