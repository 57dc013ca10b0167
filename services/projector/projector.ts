import type { Admin, Kafka } from 'kafkajs';
import type { MongoClient } from 'mongodb';
import type { z } from 'zod';
import { ensureActiveGeneration } from '../../shared/runtime/generation.ts';
import { ensureIndexes } from '../../shared/runtime/indexes.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import { controlDatabase, generationDatabase } from '../../shared/runtime/mongo.ts';
import { applyRecords, type Applied } from './apply.ts';
import type { projectorSettings } from './config.ts';
import { consume } from './consume/consumer.ts';
import { startFlusher, type Flusher } from './consume/flush.ts';
import { ensureControlIndexes } from './control.ts';
import { deadLetterTopic } from './dead-letters/dead-letters.ts';
import { kindOfTopic } from './events/topics.ts';
import { createLiveness } from './liveness.ts';
import type { Metrics } from './metrics.ts';
import { startSweeper } from './retention/sweeper.ts';
import { mongoStore } from './materialize/mongo-store.ts';

export type ProjectorDeps = {
  config: z.output<z.ZodObject<typeof projectorSettings>>;
  kafka: Kafka;
  mongo: MongoClient;
  metrics: Metrics;
  logger: Logger;
  topics: string[];
  now: () => Date;
  onFatal: (error: Error) => void;
};

/**
 * Runs a projector on the active generation, as one of any number in its group. Waits for the store, the
 * brokers and the topics to be there.
 */
export async function startProjector(deps: ProjectorDeps) {
  const { config, logger, topics, now } = deps;
  const { control, generation, database, admin, producer } = await prepare(deps);
  let flusher: Flusher | null = null;
  const applyDeps = {
    store: mongoStore(database),
    control,
    producer,
    prefix: config.TOPIC_PREFIX,
    generation,
    tombstoneDays: config.TOMBSTONE_DAYS,
    now,
  };
  const consuming = await consume({
    kafka: deps.kafka,
    admin,
    control,
    generation,
    topics,
    logger,
    groupId: groupOf(config, generation),
    queuedBytesMax: config.QUEUED_MEGABYTES_MAX * 1024 * 1024,
    sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS,
    onFatal: deps.onFatal,
    apply: async (topic, records, checkpoint) => {
      const kind = kindOfTopic(topic, config.TOPIC_PREFIX);
      if (!kind) throw new Error(`${topic} is not a topic of the bus`);
      return applyRecords(applyDeps, kind, records, checkpoint);
    },
    onApplied: ({ topic }, applied) => count(deps, topic, applied, flusher?.watermarkMs() ?? 0),
  });
  const allowanceMs = config.LATENESS_ALLOWANCE_SECONDS * 1_000;
  const sweeper = startSweeper({ ...applyDeps, ...deps, database });
  const liveness = createLiveness(now().getTime());
  flusher = startFlusher({ ...deps, liveness, control, admin, generation, allowanceMs }, consuming);
  return {
    live: () => liveness.verdict(now().getTime()),
    stop: async () => {
      await Promise.all([flusher.stop(), sweeper.stop()]);
      await consuming.stop(() => flusher.flush());
      await Promise.all([producer.disconnect(), admin.disconnect()]);
    },
  };
}

async function prepare({ config, kafka, mongo, logger, topics }: ProjectorDeps) {
  const control = controlDatabase(mongo, config.DATABASE_NAME);
  // Left to the first operation, a connection that fails closes the driver's topology for ever.
  await until(logger, 'the store is away', () => mongo.connect());
  const generation = await until(logger, 'the store is away', () => ensureActiveGeneration(control));
  const database = generationDatabase(mongo, config.DATABASE_NAME, generation);
  await until(logger, 'the store is away', async () => {
    await ensureIndexes(database);
    await ensureControlIndexes(control);
  });
  const admin = kafka.admin();
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await until(logger, 'the brokers are away', async () => {
    await admin.connect();
    await producer.connect();
  });
  await until(logger, 'topics are missing; create them with: npm run cli -- topics create', () =>
    requireTopics(admin, [...topics, deadLetterTopic(config.TOPIC_PREFIX)]),
  );
  // A broker that has just started loads its groups first, and a consumer would fail on that.
  await until(logger, 'the brokers are not ready for groups', () =>
    admin.fetchOffsets({ groupId: groupOf(config, generation), topics }),
  );
  return { control, generation, database, admin, producer };
}

const groupOf = ({ CONSUMER_GROUP }: ProjectorDeps['config'], generation: number) =>
  generation === 1 ? CONSUMER_GROUP : `${CONSUMER_GROUP}_g${generation}`;

function count(
  deps: ProjectorDeps,
  topic: string,
  { events, rejected, times }: Applied,
  promisedMs: number,
): void {
  const { metrics, logger } = deps;
  metrics.events.inc({ topic }, events);
  metrics.deadLetters.inc({ topic }, rejected);
  metrics.late.inc({ topic }, times.filter((time) => time < promisedMs).length);
  if (rejected > 0) logger.warn({ topic, rejected }, 'records were set aside as dead letters');
}

async function requireTopics(admin: Admin, topics: string[]): Promise<void> {
  const present = new Set(await admin.listTopics());
  const missing = topics.filter((topic) => !present.has(topic));
  if (missing.length > 0) throw new Error(`missing topics: ${missing.join(', ')}`);
}

/** Tries until it succeeds, saying each time what is waited for. */
async function until<T>(logger: Logger, what: string, attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      logger.warn({ reason: error instanceof Error ? error.message : String(error) }, `waiting: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 2_000));
    }
  }
}
