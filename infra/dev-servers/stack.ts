import { mkdir } from 'node:fs/promises';
import { startInDocker } from './docker/docker.ts';
import { answers } from './native/ports.ts';
import { startNative } from './native/native.ts';
import {
  providers,
  serverNames,
  type Addresses,
  type Attempt,
  type Provider,
  type ServerName,
  type Stack,
  type StackOptions,
  type Started,
} from './provider.ts';
import { nameStore, storeChoice } from './store.ts';

type Start = (options: StackOptions, needed: readonly ServerName[]) => Promise<Attempt>;
const start: Record<Exclude<Provider, 'environment'>, Start> = { docker: startInDocker, native: startNative };

/**
 * Takes Kafka and the store from the environment. Starts a server that the environment does not name with the first
 * available provider: Docker, or programs installed into the user's cache folder. If none is available, rejects with
 * one message that lists the reasons.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { providers: allowed = providers } = options;
  await mkdir(options.dataDir, { recursive: true });
  const given = allowed.includes('environment') ? await fromEnvironment() : {};
  const needed = serverNames.filter((name) => given[name] === undefined);
  // Docker has one store only.
  const skipsDocker = needed.includes('store') && storeChoice() !== undefined;
  const candidates = allowed.filter((provider) => provider !== 'docker' || !skipsDocker);
  const { provider, started } = needed.length === 0 ? nothing : await startFirst(candidates, options, needed);
  const { kafka = '', store = '' } = { ...started.addresses, ...given };
  try {
    return {
      ...started,
      kafkaBrokers: kafka,
      mongodbUrl: store,
      store: await nameStore(store),
      how: {
        kafka: needed.includes('kafka') ? provider : 'environment',
        store: needed.includes('store') ? provider : 'environment',
      },
    };
  } catch (error) {
    await started.stop();
    throw error;
  }
}

const nothing: { provider: Provider; started: Started } = {
  provider: 'environment',
  started: { addresses: {}, stop: () => Promise.resolve(), handles: { processes: [], containers: [] } },
};

async function startFirst(
  candidates: readonly Provider[],
  options: StackOptions,
  needed: readonly ServerName[],
): Promise<typeof nothing> {
  const reasons: string[] = [];
  for (const provider of candidates) {
    if (provider === 'environment') continue;
    const attempt = await start[provider](options, needed);
    if ('started' in attempt) return { provider, started: attempt.started };
    reasons.push(`  ${provider}: ${attempt.unavailable}`);
  }
  const names = needed.map((name) => ({ kafka: 'Kafka', store: 'MongoDB' })[name]).join(' and ');
  throw new Error(`No provider of ${names} is available:\n${reasons.join('\n')}`);
}

/**
 * The addresses in KAFKA_BROKERS and MONGODB_URL. Rejects if none of the brokers accepts a connection. Whether the store
 * answers is seen when it is asked for its name.
 */
async function fromEnvironment(): Promise<Addresses> {
  const { KAFKA_BROKERS: kafka, MONGODB_URL: store } = process.env;
  if (kafka) {
    const brokers = kafka.split(',').map((broker) => /^(.*):(\d+)$/.exec(broker.trim()) ?? ['', '', '0']);
    const reached = await Promise.all(brokers.map(([, host, port]) => answers(Number(port), host)));
    if (!reached.includes(true)) throw new Error(`KAFKA_BROKERS: no broker answers at ${kafka}`);
  }
  return { ...(kafka && { kafka }), ...(store && { store }) };
}
