import type { Attempt } from './provider.ts';

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
