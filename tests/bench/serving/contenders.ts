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

/** A contender in operation. */
export type Serving = {
  target: Omit<Target, 'paths'>;
  server: Pick<Service, 'pid'>;
  stop: () => Promise<unknown>;
};

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
  start: ({ environment }) => {
    const script = join('tests', 'bench', 'serving', 'servers', `${name}.ts`);
    return serve(script, environment, { headers: authorization });
  },
});

const api = (name: ServingName, title: string, http2: boolean): ServingContender => ({
  name,
  title,
  start: ({ environment, certificate }) => {
    const settings = {
      ...environment,
      API_HOST: '127.0.0.1',
      API_PORT: '0',
      RATE_LIMIT_REQUESTS: '0',
      // One organization sends every request, and may use only a share of the requests in progress.
      API_REQUESTS_MAX: '2000',
      // As in the image.
      NODE_OPTIONS: '--max-semi-space-size=32',
      ...(http2 ? certificate : { API_TRUSTED_PROXIES: '127.0.0.0/8' }),
    };
    const headers = http2 ? authorization : behindProxy;
    return serve(join('services', 'api', 'main.ts'), settings, { headers, http2 }, 'ready');
  },
});

export const servingContenders: ServingContender[] = [
  baseline('bare', '`node:http` + driver: no keys, checks or log'),
  baseline('fastify', 'Fastify 5 + driver: keys, checked queries, log'),
  api('api', 'this API, HTTP/1.1 behind a proxy', false),
  api('api-http2', 'this API, HTTP/2 over TLS', true),
];

/** Starts a script of the project; resolves when it listens and has logged `readyAfter`. */
async function serve(
  script: string,
  environment: Record<string, string>,
  target: Omit<Target, 'paths' | 'port'>,
  readyAfter = 'listening',
): Promise<Serving> {
  const server = startScript(script, { NODE_ENV: 'production', ...environment });
  const { port } = await server.logged('listening');
  await server.logged(readyAfter);
  server.dropOutput();
  return { target: { ...target, port: Number(port) }, server, stop: server.stop };
}
