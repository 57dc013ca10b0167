import { mkdir } from 'node:fs/promises';
import { errorMessage } from '../../shared/runtime/error-message.ts';
import { startInDocker } from './docker/docker.ts';
import { startNative } from './native/native.ts';
import { acceptsConnections } from './native/ports.ts';
import {
  type Provider,
  providers,
  type ServerName,
  serverNames,
  type Stack,
  type StackOptions,
  type Started,
} from './provider.ts';
import { readStoreChoice, readStoreName } from './store.ts';

type StartProvider = (options: StackOptions, name: ServerName) => Promise<Started>;
const starts: Partial<Record<Provider, StartProvider>> = { docker: startInDocker, native: startNative };

/**
 * Takes Kafka and MongoDB from the environment. Starts a server that the environment does not name by the first
 * provider that can: Docker, or programs in the user's cache folder. If no provider can, rejects with one message that
 * lists the reasons.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { providers: allowed = providers } = options;
  await mkdir(options.dataDir, { recursive: true });
  const external = allowed.includes('environment') ? await fromEnvironment() : {};
  const needed = serverNames.filter((name) => !external[name]);
  // Docker offers one store only, so a chosen store rules Docker out.
  const skipsDocker = needed.includes('store') && readStoreChoice() !== undefined;
  const candidates = allowed.filter((provider) => provider !== 'docker' || !skipsDocker);
  const { provider, servers } = await startFirst(candidates, options, needed);
  const stop = () => stopAll(Object.values(servers));
  const address = (name: ServerName) => servers[name]?.address ?? external[name] ?? '';
  const how = (name: ServerName) => (servers[name] ? provider : 'environment');
  try {
    return {
      kafkaBrokers: address('kafka'),
      mongodbUrl: address('store'),
      store: await readStoreName(address('store')),
      how: { kafka: how('kafka'), store: how('store') },
      servers,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function stopAll(servers: Started[]): Promise<void> {
  await Promise.all(servers.map((server) => server.stop()));
}

/** Starts the servers by the first provider that can start all of them. */
async function startFirst(
  candidates: readonly Provider[],
  options: StackOptions,
  needed: readonly ServerName[],
): Promise<{ provider: Provider; servers: Stack['servers'] }> {
  if (needed.length === 0) return { provider: 'environment', servers: {} };
  const reasons: string[] = [];
  for (const provider of candidates) {
    const start = starts[provider];
    if (!start) continue;
    const starting = needed.map(async (name) => [name, await start(options, name)] as const);
    const results = await Promise.allSettled(starting);
    const running = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    if (running.length === needed.length) return { provider, servers: Object.fromEntries(running) };
    const failures = results.flatMap((result) =>
      result.status === 'rejected' ? [errorMessage(result.reason)] : [],
    );
    const stopping = stopAll(running.map(([, server]) => server));
    await stopping.catch((error: unknown) => failures.push(errorMessage(error)));
    const reason = `${provider}: ${[...new Set(failures)].join('\n')}`;
    if (provider === 'docker') options.report(reason);
    reasons.push(`  ${reason}`);
  }
  const names = needed.map((name) => ({ kafka: 'Kafka', store: 'MongoDB' })[name]).join(' and ');
  throw new Error(`No provider of ${names} is available:\n${reasons.join('\n')}`);
}

/**
 * Returns the addresses in KAFKA_BROKERS and MONGODB_URL. Rejects if no broker accepts a connection. Later,
 * `readStoreName` checks that MongoDB answers.
 */
async function fromEnvironment(): Promise<Partial<Record<ServerName, string>>> {
  const { KAFKA_BROKERS: kafka, MONGODB_URL: store } = process.env;
  if (kafka) {
    const brokers = kafka.split(',').map((broker) => /^(.*):(\d+)$/.exec(broker.trim()) ?? ['', '', '0']);
    const reached = await Promise.all(
      brokers.map(([, host, port]) => acceptsConnections(Number(port), host)),
    );
    if (!reached.includes(true)) throw new Error(`KAFKA_BROKERS: no broker answers at ${kafka}`);
  }
  return { ...(kafka && { kafka }), ...(store && { store }) };
}
