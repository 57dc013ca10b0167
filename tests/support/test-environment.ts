import { Kafka, logLevel } from 'kafkajs';
import { type Logger, pino } from 'pino';
import { createTopics } from '../../services/operations/topics/create-topics.ts';
import { projectorConfig } from '../../services/projector/config.ts';
import { createMetrics } from '../../services/projector/metrics.ts';
import { startProjector } from '../../services/projector/projector.ts';
import { createKafka } from '../../shared/kafka/client.ts';
import { topicOf, topicsOf } from '../../shared/kafka/topics.ts';
import { createMongo } from '../../shared/store/connection.ts';
import { openDatabases } from './databases.ts';
import { encode, type Event } from './events.ts';
import { logEnds, reached } from './progress.ts';

/** The addresses of a Kafka and a store, as the services' environment variables. */
export type Servers = { KAFKA_BROKERS?: string; MONGODB_URL?: string };

/**
 * Creates the topics and databases of one test, under a name that nothing else has. They are on the servers of the test
 * run unless the test passes others.
 */
export async function createTestEnvironment(partitions = 3, servers: Servers = process.env) {
  const databases = await openDatabases(servers.MONGODB_URL);
  const { name } = databases;
  const variables = {
    KAFKA_BROKERS: servers.KAFKA_BROKERS,
    MONGODB_URL: servers.MONGODB_URL,
    DATABASE_NAME: name,
    TOPIC_PREFIX: `${name}.`,
    CONSUMER_GROUP: name,
    LOG_LEVEL: process.env.LOG_LEVEL ?? 'silent',
  };
  const result = projectorConfig(variables);
  if ('errors' in result) throw new Error(result.errors.join('\n'));
  // A projector of a test is pinned to its generation: an unpinned one would block a promotion.
  const config = { ...result.config, GENERATION: 1, CONSUMER_GROUP: name };
  const kafka = new Kafka({ brokers: config.KAFKA_BROKERS, logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await Promise.all([admin.connect(), producer.connect()]);
  await createTopics(admin, config.TOPIC_PREFIX, { partitions });
  return {
    ...databases,
    variables,
    config,
    topics: topicsOf(config.TOPIC_PREFIX),
    kafka,
    admin,
    producer,
    close: async () => {
      try {
        await databases.close();
      } finally {
        await Promise.all([admin.disconnect(), producer.disconnect()]);
      }
    },
  };
}

export type TestEnvironment = Awaited<ReturnType<typeof createTestEnvironment>>;

/** A request with these events stays far below the megabyte that brokers accept. */
const eventsPerRequest = 500;

/** Publishes events in structured mode, and events of one kind in order. */
export async function publish({ producer, config }: TestEnvironment, events: Event[]): Promise<void> {
  for (let start = 0; start < events.length; start += eventsPerRequest) {
    const ofRequest = events.slice(start, start + eventsPerRequest);
    const byTopic = Map.groupBy(ofRequest, ({ kind }) => topicOf(kind, config.TOPIC_PREFIX));
    const topicMessages = [...byTopic].map(([topic, ofTopic]) => ({
      topic,
      messages: ofTopic.map((event) => encode(event, 'structured')),
    }));
    await producer.sendBatch({ topicMessages });
  }
}

/** Runs a projector in this process, in the consumer group of the test environment. */
export async function runProjector(
  { config, topics }: Pick<TestEnvironment, 'config' | 'topics'>,
  {
    logger = pino({ level: config.LOG_LEVEL }),
    through = (kafka) => kafka,
    ...options
  }: {
    logger?: Logger;
    nowMs?: () => number;
    through?: (kafka: Kafka) => Kafka;
    commitIntervalMs?: number;
    refusalLimitMs?: number;
  } = {},
) {
  const mongo = createMongo(config.MONGODB_URL, 'test');
  const fatal: Error[] = [];
  const metrics = createMetrics();
  const projector = await startProjector({
    config,
    kafka: through(createKafka(config, logger)),
    mongo,
    metrics,
    logger,
    topics,
    ...options,
    onFatal: (error) => fatal.push(error),
    onWait: () => undefined,
  }).catch(async (error: unknown) => {
    await mongo.close();
    throw error;
  });
  return {
    fatal,
    metrics,
    livenessFailure: projector.livenessFailure,
    stop: async () => {
      await projector.stop();
      await mongo.close();
    },
  };
}

/** Resolves when the projectors have recorded every record of the current log as applied. */
export async function applied(
  { admin, control, topics }: TestEnvironment,
  fatal: () => Error[] = () => [],
): Promise<void> {
  await reached(control, await logEnds(admin, topics), fatal);
}
