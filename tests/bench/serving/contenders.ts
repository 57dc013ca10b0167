import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { tiedToParent } from '../../../infra/dev-servers/tied-to-parent.ts';
import { tokens } from '../../api/test-api.ts';
import type { Target } from '../load.ts';
import type { ServingName } from './contender-names.ts';

/** What every process is told, and the certificate of those that terminate TLS. */
export type ServingContext = {
  environment: { MONGODB_URL: string; DATABASE_NAME: string };
  certificate: { API_TLS_CERT: string; API_TLS_KEY: string };
};

/** A contender that answers, on one process or more. */
export type Serving = { target: Omit<Target, 'paths'>; children: ChildProcess[]; stop: () => Promise<void> };

export type ServingContender = {
  name: ServingName;
  title: string;
  start: (context: ServingContext) => Promise<Serving>;
};

const authorization = { Authorization: `Bearer ${tokens.a}` };
/** As behind a proxy that terminates TLS. */
const behindProxy = { ...authorization, 'X-Forwarded-Proto': 'https' };

const yardstick = (name: ServingName, title: string): ServingContender => ({
  name,
  title,
  start: async ({ environment }) => {
    const script = join('tests', 'bench', 'serving', 'servers', `${name}.ts`);
    return serving([await startServer(script, environment)], { headers: authorization });
  },
});

type ApiOptions = { replicas?: number; secure?: boolean } & Partial<Omit<Target, 'paths' | 'ports'>>;

const api = (
  name: ServingName,
  title: string,
  { replicas = 1, secure = false, ...target }: ApiOptions = {},
): ServingContender => ({
  name,
  title,
  start: async ({ environment, certificate }) => {
    const settings = {
      ...environment,
      API_HOST: '127.0.0.1',
      API_PORT: '0',
      RATE_LIMIT_REQUESTS: '0',
      // One organization, whose share of the requests under way is a part of it, sends them all.
      API_REQUESTS_MAX: '2000',
      ...(secure ? certificate : { API_TRUSTED_PROXIES: '127.0.0.0/8' }),
    };
    const script = join('services', 'api', 'main.ts');
    const servers = await Promise.all(
      Array.from({ length: replicas }, () => startServer(script, settings, 'ready')),
    );
    return serving(servers, { headers: secure ? authorization : behindProxy, ...target });
  },
});

export const servingContenders: ServingContender[] = [
  yardstick('bare', '`node:http` + driver: no keys, checks or log'),
  yardstick('fastify', 'Fastify 5 + driver: keys, checked queries, log'),
  yardstick('naive-koa', 'Koa + driver, each item parsed by zod'),
  api('api', 'this API, HTTP/1.1 behind a proxy'),
  api('api-compressed', 'the same, compressed', {
    headers: { ...behindProxy, 'Accept-Encoding': 'gzip, deflate, br' },
  }),
  api('api-https', 'this API, HTTP/1.1 over TLS', { secure: true, protocol: 'https' }),
  api('api-http2', 'this API, HTTP/2 over TLS', { secure: true, protocol: 'http2' }),
  api('api-2-replicas', 'this API, two replicas', { replicas: 2 }),
];

type Server = { child: ChildProcess; port: number };

const serving = (
  servers: Server[],
  { headers, protocol = 'http' }: Partial<Target> & Pick<Target, 'headers'>,
): Serving => ({
  target: { ports: servers.map(({ port }) => port), headers, protocol },
  children: servers.map(({ child }) => child),
  stop: async () => {
    const ended = servers.map(async ({ child }) => {
      if (child.exitCode === null) await once(child, 'exit');
    });
    for (const { child } of servers) child.kill('SIGTERM');
    await Promise.all(ended);
  },
});

/**
 * Starts a script of the project and waits until it tells its port, and until it logs `readyAfter`. What it logs from
 * then on is read and dropped: to keep it would cost the benchmark's process more than the request.
 */
async function startServer(
  script: string,
  environment: Record<string, string>,
  readyAfter = 'listening',
): Promise<Server> {
  const node = ['--disable-warning=TimeoutNegativeWarning', script];
  const [file = '', ...args] = [...tiedToParent(), process.execPath, ...node];
  const child = spawn(file, args, {
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let port = 0;
  const lines = createInterface({ input: child.stdout });
  for await (const text of lines) {
    const line = text.startsWith('{') ? (JSON.parse(text) as { msg?: string; port?: number }) : {};
    if (line.msg === 'listening') port = line.port ?? port;
    if (line.msg === readyAfter && port > 0) break;
  }
  if (port === 0) throw new Error(`${script} ended before it listened`);
  lines.close();
  child.stdout.resume();
  return { child, port };
}
