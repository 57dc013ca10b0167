import type { Db } from 'mongodb';
import { eventually } from '../support/eventually.ts';
import { reached, type Offsets } from '../support/progress.ts';
import { startScript, startService, type Service } from '../../infra/service.ts';
import type { BenchEnvironment } from './environment.ts';

type Servers = Pick<BenchEnvironment, 'kafkaBrokers' | 'mongodbUrl'>;

/** The settings of a service whose databases and group have this name. */
export const serviceSettings = ({ kafkaBrokers, mongodbUrl }: Servers, name: string, prefix: string) => ({
  KAFKA_BROKERS: kafkaBrokers,
  MONGODB_URL: mongodbUrl,
  DATABASE_NAME: name,
  TOPIC_PREFIX: prefix,
  CONSUMER_GROUP: name,
});

export const startProjector = (servers: Servers, name: string, prefix: string, generation = 1): Service =>
  startService('projector', {
    ...serviceSettings(servers, name, prefix),
    GENERATION: String(generation),
    LOG_LEVEL: 'warn',
  });

/** Resolves when the group has assigned its partitions: the process has started, and consumption begins. */
export const hasPartitions = (
  { admin }: Pick<BenchEnvironment, 'admin'>,
  projector: Service,
  groupId: string,
): Promise<void> =>
  eventually(
    async () => (await admin.describeGroups([groupId])).groups[0]?.state === 'Stable',
    () => exitErrors(projector),
    25,
  );

/** Resolves when the projector has recorded these offsets as applied; rejects when its process ends first. */
export const appliedTo = (control: Db, ends: Offsets, projector: Service, generation = 1): Promise<void> =>
  reached(control, ends, () => exitErrors(projector), generation);

/** The end of a process as an error, with the last lines that it wrote; none while it runs. */
export function exitErrors({ child: { exitCode, signalCode }, stderr, log }: Service): Error[] {
  const code = exitCode ?? signalCode;
  if (code === null) return [];
  return [new Error(`the process ended with ${code}: ${stderr()}${JSON.stringify(log.at(-1) ?? '')}`)];
}

/** Starts the API on a free port; resolves when it serves. Its requests come from a trusted proxy. */
export const startApi = (environment: Record<string, string>) =>
  startServer(
    'services/api/main.ts',
    {
      ...environment,
      API_TRUSTED_PROXIES: '127.0.0.0/8',
      API_HOST: '127.0.0.1',
      API_PORT: '0',
      RATE_LIMIT_REQUESTS: '0',
      // One organization sends every request, and may use only a share of the requests in progress.
      API_REQUESTS_MAX: '2000',
      // As in the image.
      NODE_OPTIONS: '--max-semi-space-size=32',
    },
    'ready',
  );

/** Starts a script that logs `listening` with its port; resolves when it has logged `ready`. Its log is dropped. */
export async function startServer(script: string, environment: Record<string, string>, ready = 'listening') {
  const server = startScript(script, { NODE_ENV: 'production', ...environment });
  const { port } = await server.logged('listening');
  await server.logged(ready);
  server.dropOutput();
  return { server, port: Number(port) };
}

/** The headers of a request that passed a proxy which terminates TLS. */
export const proxied = (token: string) => ({
  Authorization: `Bearer ${token}`,
  'X-Forwarded-Proto': 'https',
});
