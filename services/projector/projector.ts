import { hostname } from 'node:os';
import type { Kafka } from 'kafkajs';
import type { MongoClient } from 'mongodb';
import type { z } from 'zod';
import type { Logger } from '../../shared/runtime/logger.ts';
import { createStoreClock, storeTime } from '../../shared/store/clock.ts';
import type { projectorSettings } from './config.ts';
import { startCommitLoop } from './consumer/commit-loop.ts';
import { startConsumer, type ConsumerDeps } from './consumer/consumer.ts';
import { LogGap } from './consumer/gap-detector.ts';
import { createPositions } from './consumer/positions.ts';
import { kindOfTopic, topicOf } from '../../shared/kafka/topics.ts';
import { partitionKey } from '../../shared/control/topic-partition.ts';
import { prerequisites } from './materialize/edges.ts';
import { mongoStore } from './materialize/mongo-store.ts';
import type { Applied } from './consumer/partition-worker.ts';
import { createApplier } from './pipeline/applier.ts';
import { applyRecords, type ApplyDeps, type RecordBatch } from './pipeline/apply-records.ts';
import { mongoSweepStore } from './retention/mongo-sweep-store.ts';
import { ownsSweep, startSweeper } from './retention/sweeper.ts';
import { connectBrokers, waitForGroup, waitForTopics } from './startup/connect-brokers.ts';
import { storeFailure } from '../../shared/control/failures.ts';
import { groupIdOf } from '../../shared/control/generations.ts';
import { createLiveness } from './liveness.ts';
import { initializeCounters, type Metrics } from './metrics.ts';
import { applyGenerationSettings, followRegistry, recordAbsence } from './generations/follow.ts';
import { openStore, waitingForStore } from './startup/open-store.ts';
import { waitUntil, type OnWait } from './startup/wait-until.ts';

type ProjectorDeps = {
  config: z.output<z.ZodObject<typeof projectorSettings>>;
  kafka: Kafka;
  mongo: MongoClient;
  metrics: Metrics;
  logger: Logger;
  topics: string[];
  /** A monotonic clock, in milliseconds; `performance.now` by default. */
  nowMs?: () => number;
  /** The one clock that decides about data; by default MongoDB's. */
  clock?: () => Promise<Date>;
  onFatal: (error: Error) => void;
  /** Receives each condition that the start waits for. */
  onWait: OnWait;
  /** The interval of the commit loop, in milliseconds; a second by default. */
  commitIntervalMs?: number;
};

/** The dependencies, with every connection that the projector opens at its start. */
type Connected = Awaited<ReturnType<typeof connect>>;

/**
 * Starts a projector on a generation, as one of any number of members of its group. Waits for MongoDB, the
 * brokers and the topics. Rejects with `StartRefused` if one of them refuses the projector.
 */
export async function startProjector(deps: ProjectorDeps) {
  const connected = await connect(deps);
  const { config, clock, nowMs, admin, log } = connected;
  const applyDeps = createApplyDeps(connected);
  const consumer = await startConsumer(createConsumerDeps(connected, applyDeps));
  // A dropped generation is a normal end: it is not stored as a failure.
  const following = followRegistry({ ...connected, now: clock, onFatal: deps.onFatal });
  const sweeper = startSweeper({
    ...applyDeps,
    ...connected,
    sweepStore: mongoSweepStore({ ...connected, prefix: config.TOPIC_PREFIX }),
    isOwner: () => ownsSweep(consumer.snapshot(), config.TOPIC_PREFIX),
  });
  const liveness = createLiveness(nowMs());
  const commitLoop = startCommitLoop({ ...connected, liveness }, consumer, deps.commitIntervalMs);
  consumer.onApplied((topic, applied) => countApplied(connected, topic, applied, commitLoop.watermarkMs()));
  return {
    generation: connected.generation,
    live: () => liveness.failure(nowMs()),
    stop: async () => {
      await Promise.all([commitLoop.stop(), sweeper.stop(), following.stop()]);
      await consumer.stop(() => commitLoop.flush());
      await Promise.all([admin.disconnect(), log.disconnect()]);
    },
  };
}

/** Waits for MongoDB, the brokers, the topics and the group, in this order. */
async function connect(deps: ProjectorDeps) {
  const { config, kafka, mongo, metrics, topics, onWait } = deps;
  const { registered, ...store } = await openStore(mongo, config, onWait);
  const { number: generation } = registered;
  metrics.registry.setDefaultLabels({ generation });
  initializeCounters(metrics, topics);
  const brokers = await connectBrokers(kafka, onWait);
  await waitForTopics(brokers.admin, topics, onWait);
  await waitForGroup(brokers.admin, groupIdOf(config, generation), topics, onWait);
  const { nowMs = () => performance.now() } = deps;
  const controls = { positions: createPositions(nowMs), applier: createApplier() };
  // Set before the first record is read: a build must not begin with records after its load.
  applyGenerationSettings(controls, registered);
  const allowanceMs = config.LATENESS_ALLOWANCE_SECONDS * 1_000;
  const { clock: read = () => storeTime(store.control) } = deps;
  const storeClock = createStoreClock(read, nowMs);
  await waitUntil(onWait, waitingForStore, storeClock.read);
  // Host and process, for the history and for failures.
  const by = `projector ${hostname()} ${process.pid}`;
  const connected = {
    ...deps,
    ...store,
    ...brokers,
    ...controls,
    generation,
    /** Whether `GENERATION` is set: otherwise a restart may follow another generation. */
    isPinned: config.GENERATION !== undefined,
    allowanceMs,
    by,
    clock: storeClock.read,
    /** The time of `clock` without a command: Invariant 12 in docs/internals/retention.md. */
    now: storeClock.now,
    nowMs,
  };
  // Run before the first commit: the old watermark shows how long no projector ran.
  const startedAt = await waitUntil(onWait, waitingForStore, () =>
    recordAbsence({ ...connected, now: storeClock.read }, generation),
  );
  const onFatal = (error: Error) => {
    const failure = { reason: error.message, isFinal: error instanceof LogGap };
    void storeFailure(connected, failure).then(() => deps.onFatal(error));
  };
  return { ...connected, startedAt, onFatal };
}

/** The dependencies for applying records: the store and the dead letters. */
function createApplyDeps(connected: Connected): ApplyDeps {
  const { config, control, database, generation, logger, metrics, now, positions } = connected;
  return {
    control,
    generation,
    now,
    store: mongoStore(database),
    prefix: config.TOPIC_PREFIX,
    tombstoneDays: config.TOMBSTONE_DAYS,
    isApplied: (kind, { partition, offset }) =>
      positions.isApplied(partitionKey({ topic: topicOf(kind, config.TOPIC_PREFIX), partition }), offset),
    onNotRefreshed: (kind, id, reason) => {
      metrics.notRefreshed.inc({ kind });
      logger.error({ kind, id, reason }, 'MongoDB rejected the refresh of a document');
    },
    onRepeated: (kind, cause, documents) => metrics.repeated.inc({ kind, cause }, documents),
  };
}

/** Translates between the consumer, which knows topics, and the pipeline, which knows kinds. */
function createConsumerDeps(connected: Connected, applyDeps: ApplyDeps): ConsumerDeps {
  const { config, generation, metrics, applier } = connected;
  const kindOf = (topic: string) => kindOfTopic(topic, config.TOPIC_PREFIX);
  const applySet = async (batches: RecordBatch[]) => {
    const end = metrics.batchSeconds.startTimer();
    const completing = await applyRecords(applyDeps, batches);
    return completing.map((complete, index) => async () => {
      const applied = await complete();
      end({ topic: topicOf(batches[index]?.kind ?? 'message', config.TOPIC_PREFIX) });
      return applied;
    });
  };
  return {
    ...connected,
    groupId: groupIdOf(config, generation),
    queuedBytesMax: config.QUEUED_MEGABYTES_MAX * 1024 * 1024,
    sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS,
    prerequisitesOf: (topic) => {
      const kind = kindOf(topic);
      return kind ? prerequisites(kind).map((of) => topicOf(of, config.TOPIC_PREFIX)) : [];
    },
    apply: async (topic, records, context) => {
      const kind = kindOf(topic);
      if (!kind) throw new Error(`${topic} is not a topic of this projector`);
      const applied = await applier.run({ kind, records, context }, applySet);
      metrics.batchRecords.observe(records.length);
      return applied;
    },
    onForeignCommit: (topic) => metrics.foreignCommits.inc({ topic }),
    onFetched: (topic, records) => metrics.fetched.inc({ topic }, records),
  };
}

/** Counts applied events and dead letters. An event older than the watermark counts as late. */
function countApplied(
  { metrics, logger }: ProjectorDeps,
  topic: string,
  { events, rejected, times }: Applied,
  watermarkMs: number,
): void {
  metrics.events.inc({ topic }, events);
  for (const reason of rejected) metrics.deadLetters.inc({ topic, reason });
  metrics.late.inc({ topic }, times.filter((time) => time < watermarkMs).length);
  if (rejected.length > 0)
    logger.warn({ topic, rejected: rejected.length }, 'records were stored as dead letters');
}
