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
    const servers: Stack['servers'] = {};
    const failures: string[] = [];
    const startOne = async (name: ServerName): Promise<void> => {
      try {
        servers[name] = await start(options, name);
      } catch (error) {
        failures.push(errorMessage(error));
      }
    };
    await Promise.all(needed.map(startOne));
    if (failures.length === 0) return { provider, servers };
    await stopAll(Object.values(servers)).catch((error: unknown) => failures.push(errorMessage(error)));
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
  const addresses: Partial<Record<ServerName, string>> = {};
  if (kafka) {
    const reached = await Promise.all(kafka.split(',').map(brokerAccepts));
    if (!reached.includes(true)) throw new Error(`KAFKA_BROKERS: no broker answers at ${kafka}`);
    addresses.kafka = kafka;
  }
  if (store) addresses.store = store;
  return addresses;
}

/** Whether a broker, which is named `<host>:<port>`, accepts connections. */
function brokerAccepts(broker: string): Promise<boolean> {
  const [, host = '', port = '0'] = /^(.*):(\d+)$/.exec(broker.trim()) ?? [];
  return acceptsConnections(Number(port), host);
}
