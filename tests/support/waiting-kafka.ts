import type { ConsumerRunConfig, Kafka } from 'kafkajs';

/** A Kafka client whose consumers wait before each batch. */
export function waitingKafka(kafka: Kafka, wait: () => Promise<unknown>): Kafka {
  const consumer: Kafka['consumer'] = (options) => {
    const made = kafka.consumer(options);
    const run = async ({ eachBatch, ...rest }: ConsumerRunConfig = {}) =>
      made.run({
        ...rest,
        eachBatch: async (payload) => {
          await wait();
          await eachBatch?.(payload);
        },
      });
    return { ...made, run };
  };
  return Object.assign(Object.create(kafka) as Kafka, { consumer });
}
