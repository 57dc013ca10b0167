import type { Admin, Kafka, Producer } from 'kafkajs';
import type { Db, MongoClient } from 'mongodb';
import type { z } from 'zod';
import { ensureActiveGeneration } from '../../shared/store/generations.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import { controlDatabase, generationDatabase } from '../../shared/store/connection.ts';
import { applyRecords, type Applied, type ApplyDeps } from './pipeline/apply-records.ts';
import type { projectorSettings } from './config.ts';
import { startConsumer } from './consumer/consumer.ts';
import { startCommitLoop, type CommitLoop } from './consumer/commit-loop.ts';
import { createLogClient } from './kafka/log-client.ts';
import { keyOf } from './consumer/partition-worker.ts';
import { createPositions, type Positions } from './consumer/positions.ts';
import { ensureControlIndexes } from './runtime/control-indexes.ts';
import { deadLetterTopic } from './dead-letters/collection.ts';
import { parse } from './events/parse.ts';
import { kindOfTopic, topicOf } from './events/topics.ts';
import { createLiveness } from './runtime/liveness.ts';
import type { Metrics } from './runtime/metrics.ts';
import { startSweeper } from './retention/sweeper.ts';
import { prerequisites } from './materialize/edges.ts';
import { mongoStore } from './materialize/mongo-store.ts';
import { createReferenceCache } from './materialize/reference-cache.ts';
import { NotThereYet, waitUntil } from './runtime/wait-until.ts';

export type ProjectorDeps = {
  config: z.output<z.ZodObject<typeof projectorSettings>>;
  kafka: Kafka;
  mongo: MongoClient;
  metrics: Metrics;
  logger: Logger;
  topics: string[];
  now: () => Date;
  onFatal: (error: Error) => void;
  /** Pause between recording progress and recording it again, in milliseconds; a second unless told. */
  commitIntervalMs?: number;
};

/**
 * Runs a projector on the active generation, as one of any number in its group. Waits for the store, the
 * brokers and the topics to be there; rejects with `StartRefused` where they refuse it.
 */
export async function startProjector(deps: ProjectorDeps) {
  const { config, logger, topics, now } = deps;
  const { control, generation, database, admin, log, producer } = await prepare(deps);
  const positions = createPositions(() => performance.now());
  let commitLoop: CommitLoop | null = null;
  const applyDeps = applyDepsOf(deps, { control, generation, database, producer, positions });
  const consuming = await startConsumer({
    kafka: deps.kafka,
    admin,
    log,
    control,
    generation,
    topics,
    logger,
    groupId: groupOf(config, generation),
    queuedBytesMax: config.QUEUED_MEGABYTES_MAX * 1024 * 1024,
    sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS,
    onFatal: deps.onFatal,
    positions,
    prerequisitesOf: (topic) => {
      const kind = kindOfTopic(topic, config.TOPIC_PREFIX);
      return kind ? prerequisites(kind).map((of) => topicOf(of, config.TOPIC_PREFIX)) : [];
    },
    apply: async (topic, records, work) => {
      const kind = kindOfTopic(topic, config.TOPIC_PREFIX);
      if (!kind) throw new Error(`${topic} is not a topic of the bus`);
      return applyRecords(applyDeps, kind, records, work);
    },
    timeOf: (topic, record) => {
      const kind = kindOfTopic(topic, config.TOPIC_PREFIX);
      const parsed = kind && parse(kind, record);
      return parsed && 'change' in parsed ? parsed.change.time.getTime() : null;
    },
    onApplied: ({ topic }, applied) => {
      count(deps, topic, applied, commitLoop?.watermarkMs() ?? 0);
      commitLoop?.onApplied(applied.events + applied.rejected);
    },
  });
  const allowanceMs = config.LATENESS_ALLOWANCE_SECONDS * 1_000;
  const sweeper = startSweeper({ ...applyDeps, ...deps, database });
  const liveness = createLiveness(now().getTime());
  commitLoop = startCommitLoop(
    { ...deps, positions, liveness, control, log, generation, allowanceMs },
    consuming,
    deps.commitIntervalMs,
  );
  return {
    live: () => liveness.verdict(now().getTime()),
    stop: async () => {
      await Promise.all([commitLoop.stop(), sweeper.stop()]);
      await consuming.stop(() => commitLoop.flush());
      await Promise.all([producer.disconnect(), admin.disconnect(), log.disconnect()]);
    },
  };
}

function applyDepsOf(
  { config, logger, metrics, now }: ProjectorDeps,
  parts: { control: Db; generation: number; database: Db; producer: Producer; positions: Positions },
): ApplyDeps {
  const { control, generation, database, producer, positions } = parts;
  return {
    ...{ control, producer, generation, now },
    store: mongoStore(database),
    cache: createReferenceCache(),
    prefix: config.TOPIC_PREFIX,
    tombstoneDays: config.TOMBSTONE_DAYS,
    isApplied: (kind, { partition, offset }) =>
      positions.isApplied(keyOf({ topic: topicOf(kind, config.TOPIC_PREFIX), partition }), offset),
    onNotRefreshed: (kind, id, reason) => {
      metrics.notRefreshed.inc({ kind });
      logger.error({ kind, id, reason }, 'the store refuses a document as its references would have it');
    },
  };
}

async function prepare({ config, kafka, mongo, logger, topics }: ProjectorDeps) {
  const control = controlDatabase(mongo, config.DATABASE_NAME);
  // Left to the first operation, a connection that fails closes the driver's topology for ever.
  await waitUntil(logger, 'the store is away', () => mongo.connect());
  const generation = await waitUntil(logger, 'the store is away', () => ensureActiveGeneration(control));
  const database = generationDatabase(mongo, config.DATABASE_NAME, generation);
  await waitUntil(logger, 'the store is away', async () => {
    await ensureIndexes(database);
    await ensureControlIndexes(control);
  });
  const admin = kafka.admin();
  const log = createLogClient(kafka);
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await waitUntil(logger, 'the brokers are away', async () => {
    await admin.connect();
    await log.connect();
    await producer.connect();
  });
  await waitUntil(logger, 'topics are missing; create them with: npm run cli -- topics create', () =>
    requireTopics(admin, [...topics, deadLetterTopic(config.TOPIC_PREFIX)]),
  );
  // A broker that has just started loads its groups first, and a consumer would fail on that.
  await waitUntil(logger, 'the brokers are not ready for groups', () =>
    admin.fetchOffsets({ groupId: groupOf(config, generation), topics }),
  );
  return { control, generation, database, admin, log, producer };
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
  if (missing.length > 0) throw new NotThereYet(`missing topics: ${missing.join(', ')}`);
}
