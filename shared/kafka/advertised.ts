import { errorChain } from '../runtime/error-message.ts';

/** The addresses in the KAFKA_BROKERS of all clients of this process. */
const configuredBrokers = new Set<string>();

export const rememberBrokers = (brokers: string[]): void =>
  brokers.forEach((broker) => configuredBrokers.add(broker));

/**
 * The unreachable address in an error, if KAFKA_BROKERS does not name it. A broker advertises this address, so every
 * client must reach the broker there. Null for any other error.
 */
export function advertisedAddress(error: unknown): string | null {
  const addresses = errorChain(error).flatMap((cause) => {
    const { name, broker } = cause as { name: string; broker?: unknown };
    return name === 'KafkaJSConnectionError' && typeof broker === 'string' ? [broker] : [];
  });
  if (configuredBrokers.size === 0) return null;
  return addresses.find((address) => !configuredBrokers.has(address)) ?? null;
}
