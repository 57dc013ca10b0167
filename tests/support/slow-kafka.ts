import { setTimeout as sleep } from 'node:timers/promises';
import type { ConsumerRunConfig, Kafka } from 'kafkajs';
import type { Random } from './random.ts';

/** A Kafka client that delays each batch at random: partitions lag unevenly, and none delays another. */
export function slowKafka(kafka: Kafka, random: Random, delayMsMax: number): Kafka {
  const consumer: Kafka['consumer'] = (options) => {
    const made = kafka.consumer(options);
    const run = async ({ eachBatch, ...rest }: ConsumerRunConfig = {}) =>
      made.run({
        ...rest,
        partitionsConsumedConcurrently: 100,
        eachBatch: async (payload) => {
          if (random.chance(0.4)) await sleep(random.int(delayMsMax));
          await eachBatch?.(payload);
        },
      });
    return { ...made, run };
  };
  return Object.assign(Object.create(kafka) as Kafka, { consumer });
}
