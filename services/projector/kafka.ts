import { Kafka, logLevel, type KafkaConfig, type SASLOptions } from 'kafkajs';
import type { z } from 'zod';
import type { kafkaSettings } from '../../shared/runtime/settings.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import { registerCodecs } from './events/codecs.ts';

export type KafkaSettings = z.output<z.ZodObject<typeof kafkaSettings>>;

/** A Kafka client with every codec registered, logging through `logger`. Nothing is connected yet. */
export function createKafka(settings: KafkaSettings, logger: Logger): Kafka {
  registerCodecs();
  // A notice about a change of kafkajs 2.0, printed for every producer.
  process.env.KAFKAJS_NO_PARTITIONER_WARNING = '1';
  const sasl = saslOptions(settings);
  const config: KafkaConfig = {
    clientId: settings.KAFKA_CLIENT_ID,
    brokers: settings.KAFKA_BROKERS,
    ssl: settings.KAFKA_SSL,
    ...(sasl ? { sasl } : {}),
    connectionTimeout: 5_000,
    requestTimeout: 30_000,
    retry: { initialRetryTime: 200, maxRetryTime: 5_000, retries: 8 },
    logLevel: logLevel.WARN,
    logCreator: () => (entry) => {
      const { message, timestamp, logger: _kafkajs, ...fields } = entry.log;
      const level =
        entry.level === logLevel.ERROR ? 'error' : entry.level === logLevel.WARN ? 'warn' : 'debug';
      logger[level]({ kafka: entry.namespace, ...fields }, message);
    },
  };
  return new Kafka(config);
}

function saslOptions(settings: KafkaSettings): SASLOptions | null {
  const { KAFKA_SASL_MECHANISM, KAFKA_SASL_USERNAME = '', KAFKA_SASL_PASSWORD = '' } = settings;
  const credentials = { username: KAFKA_SASL_USERNAME, password: KAFKA_SASL_PASSWORD };
  switch (KAFKA_SASL_MECHANISM) {
    case undefined:
      return null;
    case 'plain':
      return { mechanism: 'plain', ...credentials };
    case 'scram-sha-256':
      return { mechanism: 'scram-sha-256', ...credentials };
    case 'scram-sha-512':
      return { mechanism: 'scram-sha-512', ...credentials };
  }
}
