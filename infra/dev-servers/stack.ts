import { mkdir } from 'node:fs/promises';
import { startInDocker } from './docker/docker.ts';
import { startNative } from './native/native.ts';
import { providers, type Attempt, type Provider, type Stack, type StackOptions } from './provider.ts';

const start: Record<Provider, (options: StackOptions) => Promise<Attempt>> = {
  environment: async (options) => fromEnvironment(options.environment ?? process.env),
  docker: startInDocker,
  native: startNative,
};

/**
 * Starts Kafka and MongoDB (or a server that speaks its protocol) with the first available provider: addresses in
 * the environment, Docker, or servers installed into the user's cache folder. If none is available, rejects with
 * one message that lists the reasons.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  await mkdir(options.dataDir, { recursive: true });
  const reasons: string[] = [];
  for (const provider of options.providers ?? providers) {
    const attempt = await start[provider](options);
    if ('stack' in attempt) return attempt.stack;
    reasons.push(`  ${provider}: ${attempt.unavailable}`);
  }
  throw new Error(`No provider of Kafka and MongoDB is available:\n${reasons.join('\n')}`);
}

/** The servers that KAFKA_BROKERS and MONGODB_URL name. They belong to the user, so `stop` does not stop them. */
export function fromEnvironment(environment: Record<string, string | undefined>): Attempt {
  const { KAFKA_BROKERS: kafkaBrokers, MONGODB_URL: mongodbUrl } = environment;
  if (kafkaBrokers && mongodbUrl) {
    const stop = () => Promise.resolve();
    const handles = { processes: [], containers: [] };
    return { stack: { kafkaBrokers, mongodbUrl, how: 'environment', stop, handles } };
  }
  if (kafkaBrokers) throw new Error('KAFKA_BROKERS is set but MONGODB_URL is not: set both, or neither');
  if (mongodbUrl) throw new Error('MONGODB_URL is set but KAFKA_BROKERS is not: set both, or neither');
  return { unavailable: 'KAFKA_BROKERS and MONGODB_URL are not set' };
}
