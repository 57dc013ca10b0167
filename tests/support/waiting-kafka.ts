import type { Consumer, ConsumerRunConfig, Kafka } from 'kafkajs';

/** A Kafka client that passes each of its new consumers through `change`. */
export function withConsumers(kafka: Kafka, change: (created: Consumer) => Consumer): Kafka {
  const consumer: Kafka['consumer'] = (options) => change(kafka.consumer(options));
  return Object.assign(Object.create(Object.getPrototypeOf(kafka) as object) as Kafka, kafka, { consumer });
}

/** A Kafka client whose consumers wait before each batch. */
export const waitingKafka = (kafka: Kafka, wait: () => Promise<unknown>): Kafka =>
  withConsumers(kafka, (consumer) => ({
    ...consumer,
    run: async ({ eachBatch, ...rest }: ConsumerRunConfig = {}) =>
      consumer.run({
        ...rest,
        eachBatch: async (payload) => {
          await wait();
          await eachBatch?.(payload);
        },
      }),
  }));
