import { join } from 'node:path';
import { tokens } from '../../api/test-api.ts';
import { startScript, type Service } from '../../support/service.ts';
import type { Target } from '../load.ts';
import type { ServingName } from './contender-names.ts';

/** The environment of every contender, and the certificate of the contenders that terminate TLS. */
export type ServingContext = {
  environment: { MONGODB_URL: string; DATABASE_NAME: string };
  certificate: { API_TLS_CERT: string; API_TLS_KEY: string };
};

type Server = Service & { port: number };

/** A contender in operation, in one or more processes. */
export type Serving = { target: Omit<Target, 'paths'>; servers: Server[]; stop: () => Promise<void> };

export type ServingContender = {
  name: ServingName;
  title: string;
  start: (context: ServingContext) => Promise<Serving>;
};

const authorization = { Authorization: `Bearer ${tokens.a}` };
/** The headers of a request that passed a proxy which terminates TLS. */
const behindProxy = { ...authorization, 'X-Forwarded-Proto': 'https' };

const baseline = (name: ServingName, title: string): ServingContender => ({
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
      // One organization sends every request, and may use only a share of the requests in progress.
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
  baseline('bare', '`node:http` + driver: no keys, checks or log'),
  baseline('fastify', 'Fastify 5 + driver: keys, checked queries, log'),
  baseline('naive-koa', 'Koa + driver, each item parsed by zod'),
  api('api', 'this API, HTTP/1.1 behind a proxy'),
  api('api-compressed', 'the same, compressed', {
    headers: { ...behindProxy, 'Accept-Encoding': 'gzip, deflate, br' },
  }),
  api('api-https', 'this API, HTTP/1.1 over TLS', { secure: true, protocol: 'https' }),
  api('api-http2', 'this API, HTTP/2 over TLS', { secure: true, protocol: 'http2' }),
  api('api-2-replicas', 'this API, two replicas', { replicas: 2 }),
];

const serving = (
  servers: Server[],
  { headers, protocol = 'http' }: Partial<Target> & Pick<Target, 'headers'>,
): Serving => ({
  target: { ports: servers.map(({ port }) => port), headers, protocol },
  servers,
  stop: async () => {
    await Promise.all(servers.map((server) => server.stop()));
  },
});

/** Starts a script of the project; resolves when it listens and has logged `readyAfter`. */
async function startServer(
  script: string,
  environment: Record<string, string>,
  readyAfter = 'listening',
): Promise<Server> {
  const server = startScript(script, { NODE_ENV: 'production', ...environment });
  const { port } = await server.logged('listening');
  await server.logged(readyAfter);
  server.dropOutput();
  return { ...server, port: Number(port) };
}
