import { startScript, startService, type Service } from '../../infra/service.ts';
import type { BenchEnvironment } from './environment.ts';

type Environment = Record<string, string>;
type Servers = Pick<BenchEnvironment, 'kafkaBrokers' | 'mongodbUrl'>;

/** The settings of a service whose databases and group have this name. */
export const serviceSettings = ({ kafkaBrokers, mongodbUrl }: Servers, name: string, prefix: string) => ({
  KAFKA_BROKERS: kafkaBrokers,
  MONGODB_URL: mongodbUrl,
  DATABASE_NAME: name,
  TOPIC_PREFIX: prefix,
  CONSUMER_GROUP: name,
});

/** The end of a process as an error, with the last lines that it wrote; none while it runs. */
export function exitErrors({ child: { exitCode, signalCode }, stderr, log }: Service): Error[] {
  const code = exitCode ?? signalCode;
  if (code === null) return [];
  return [new Error(`the process ended with ${code}: ${stderr()}${JSON.stringify(log.at(-1) ?? '')}`)];
}

/** Starts the API on a free port; resolves when it serves. Its requests come from a trusted proxy. */
export async function startApi(environment: Environment) {
  const api = startService('api', {
    ...environment,
    NODE_ENV: 'production',
    API_TRUSTED_PROXIES: '127.0.0.0/8',
    API_HOST: '127.0.0.1',
    API_PORT: '0',
    RATE_LIMIT_REQUESTS: '0',
    // One organization sends every request, and may use only a share of the requests in progress.
    API_REQUESTS_MAX: '4000',
  });
  return serving(api, 'ready');
}

/** Starts the server of the other contender; resolves when it listens. */
export const startBare = (environment: Environment) =>
  serving(
    startScript('tests/bench/serving/bare.ts', { NODE_ENV: 'production', ...environment }),
    'listening',
  );

/** The log is dropped: parsing its lines would cost the client more than the requests. */
async function serving(server: Service, ready: string) {
  const { port } = await server.logged('listening');
  await server.logged(ready);
  server.dropOutput();
  return { server, port: Number(port) };
}
