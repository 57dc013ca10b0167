import { Kafka, type KafkaConfig, type LogEntry, logLevel, type Mechanism, type SASLOptions } from 'kafkajs';
import type { z } from 'zod';
import type { SettingFiles } from '../runtime/config.ts';
import type { Logger } from '../runtime/logger.ts';
import { pick } from '../runtime/pick.ts';
import type { kafkaSettings } from '../runtime/settings.ts';
import { createAccessTokens, tokenMechanism } from './access-token.ts';
import { rememberBrokers } from './advertised.ts';
import { patchKafkajs } from './kafkajs-patch.ts';
import { createCertificateReader, createSocketFactory } from './socket-factory.ts';

export type KafkaSettings = z.output<z.ZodObject<typeof kafkaSettings>> & { files?: SettingFiles };

type ClientOptions = { retries?: number; onError?: (message: string) => void };

/** The text that kafkajs writes before the reason why a broker of KAFKA_BROKERS could not be used. */
const seedBrokerPrefix = 'Failed to connect to seed broker, trying another broker from the list: ';

/**
 * Creates a patched Kafka client, which logs to `logger`, and repeats a failed request up to `retries` times. The
 * caller connects the client. `onError` receives the reason of every failure, even before a retry.
 */
export function createKafka(settings: KafkaSettings, logger: Logger, options: ClientOptions = {}): Kafka {
  const { retries = 8, onError } = options;
  patchKafkajs();
  // An error about an unreachable broker says whether KAFKA_BROKERS names the broker.
  rememberBrokers(settings.KAFKA_BROKERS);
  // kafkajs would print a notice about a change in version 2.0 for every producer.
  process.env.KAFKAJS_NO_PARTITIONER_WARNING = '1';
  const sasl = saslOptions(settings);
  const config: KafkaConfig = {
    // Brokers name a client by this id in logs and quotas, so deployments with different groups have different ids.
    clientId: settings.CONSUMER_GROUP ?? 'support-read-models',
    brokers: settings.KAFKA_BROKERS,
    ssl: settings.KAFKA_SSL,
    connectionTimeout: 5_000,
    requestTimeout: 30_000,
    retry: { initialRetryTime: 200, maxRetryTime: 5_000, retries },
    logLevel: logLevel.WARN,
    logCreator: () => (entry) => {
      if (entry.level === logLevel.ERROR) onError?.(reasonIn(entry));
      const { message, timestamp, logger: _kafkajs, ...fields } = entry.log;
      logger[levelOf(entry)]({ kafka: entry.namespace, ...fields }, message);
    },
  };
  if (sasl) config.sasl = sasl;
  if (settings.KAFKA_SSL) {
    const certificates = pick(settings, ['KAFKA_TLS_CA', 'KAFKA_TLS_CERT', 'KAFKA_TLS_KEY']);
    const readCertificates = createCertificateReader(certificates, settings.files ?? {}, logger);
    config.socketFactory = createSocketFactory(readCertificates);
  }
  return new Kafka(config);
}

/** The reason for a failure in a line of kafkajs. */
const reasonIn = ({ log }: LogEntry): string =>
  String(log.error ?? log.message).replace(seedBrokerPrefix, '');

/**
 * Transient error responses, which kafkajs retries. Every heartbeat and commit fails with one during a rebalance, and
 * every request after a topic is created or a leader moves. They are logged at level debug: if an error persists, the
 * component that sent the request logs it.
 */
const transientErrors = [
  'The group is rebalancing, so a rejoin is needed',
  'The group coordinator is not available',
  "The coordinator is loading and hence can't process requests for this group",
  'This server does not host this topic-partition',
  'This server is not the leader for that topic-partition',
  'There is no leader for this topic-partition as we are in the middle of a leadership election',
];

/** The lines of kafkajs about a consumer that fails and restarts. consumer.ts logs the failure with its error. */
const restartLines = /^(?:Crash: |Restarting the consumer in )/;

/** The level at which this service logs a line of kafkajs. */
export function levelOf({ namespace, level, log }: LogEntry): 'error' | 'warn' | 'debug' {
  if (namespace === 'Consumer' && restartLines.test(log.message)) return 'debug';
  if (namespace === 'Connection' && transientErrors.includes(String(log.error))) return 'debug';
  if (level === logLevel.ERROR) return 'error';
  return level === logLevel.WARN ? 'warn' : 'debug';
}

function saslOptions(settings: KafkaSettings): SASLOptions | Mechanism | null {
  const {
    KAFKA_SASL_MECHANISM: mechanism,
    KAFKA_SASL_USERNAME: username = '',
    KAFKA_SASL_PASSWORD: password = '',
    KAFKA_SASL_TOKEN_URL: url = '',
    KAFKA_SASL_TOKEN_SCOPE: scope,
  } = settings;
  if (mechanism === undefined) return null;
  if (mechanism === 'oauthbearer')
    return tokenMechanism(createAccessTokens({ url, clientId: username, clientSecret: password, scope }));
  return { mechanism, username, password } as SASLOptions;
}
