import { errorChain } from '../runtime/error-message.ts';

/** The addresses in KAFKA_BROKERS, of the clients of this process. */
const given = new Set<string>();

export const rememberBrokers = (brokers: string[]): void => brokers.forEach((broker) => given.add(broker));

/**
 * The address at which no broker could be reached, if it is not in KAFKA_BROKERS: a broker advertises it, and every
 * client has to use it. Null for any other error.
 */
export function advertisedAddress(error: unknown): string | null {
  const addresses = errorChain(error).flatMap((cause) => {
    const { name, broker } = cause as { name: string; broker?: unknown };
    return name === 'KafkaJSConnectionError' && typeof broker === 'string' ? [broker] : [];
  });
  return (given.size > 0 && addresses.find((address) => !given.has(address))) || null;
}
