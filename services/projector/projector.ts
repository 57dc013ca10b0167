import { hostname } from 'node:os';
import type { Kafka } from 'kafkajs';
import type { Db, MongoClient } from 'mongodb';
import { type Generation, groupIdOf } from '../../shared/control/generations.ts';
import { beginningOf } from '../../shared/control/registry.ts';
import type { TopicPartition } from '../../shared/control/topic-partition.ts';
import type { OwnMembership } from '../../shared/kafka/member-metadata.ts';
import { withRemedy } from '../../shared/kafka/remedies.ts';
import { kindOfTopic, topicOf } from '../../shared/kafka/topics.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import { repeat } from '../../shared/runtime/repeat.ts';
import { createStoreClock, storeTime } from '../../shared/store/clock.ts';
import { controlDatabase } from '../../shared/store/connection.ts';
import { createApplier } from './apply/apply.ts';
import { watchBrokers } from './broker-watch.ts';
import type { ProjectorConfig } from './config.ts';
import { type ConsumerDeps, type RunningConsumer, startConsumer } from './consumer/consumer.ts';
import { expireMarks } from './dead-letters/expire-marks.ts';
import type { DeadLetterRoom } from './dead-letters/room.ts';
import { createEngine } from './engine.ts';
import { type EndingDeps, refuseGaps, storeEnd } from './generations/ending.ts';
import { applyGenerationSettings, followRegistry, recordAbsence } from './generations/follow.ts';
import type { Applied } from './hand-over.ts';
import { createKafkaWatch } from './kafka-watch.ts';
import { prerequisites } from './materialize/edges.ts';
import { initializeMetrics, type Metrics } from './metrics.ts';
import { createPositions } from './partition/positions.ts';
import { type CommitLoop, startCommitLoop } from './progress/commit-loop.ts';
import { createLiveness } from './progress/liveness.ts';
import { createRefusalLimit } from './refusal-limit.ts';
import { mongoSweepStore } from './retention/mongo-sweep-store.ts';
import { ownsSweep, startSweeper } from './retention/sweeper.ts';
import { shutDown } from './shut-down.ts';
import { checkProgress } from './startup/check-progress.ts';
import { type Brokers, connectBrokers, createBrokers } from './startup/connect-brokers.ts';
import { openStore } from './startup/open-store.ts';
import {
  refuseOtherCluster,
  refuseStrangers,
  refuseUnadmitted,
  requireMembership,
} from './startup/refuse.ts';
import { type OnWait, StartRefused, waitUntil } from './startup/wait-until.ts';
import { watchTopics } from './topic-watch.ts';
import { createWaitingReport, type WaitingReport } from './waiting-report.ts';

type ProjectorDeps = {
  config: ProjectorConfig;
  kafka: Kafka;
  mongo: MongoClient;
  metrics: Metrics;
  logger: Logger;
  topics: string[];
  /** A monotonic clock, in milliseconds; `performance.now` by default. */
  nowMs?: () => number;
  onFatal: (error: Error) => void;
  /** Receives each condition that the start waits for. */
  onWait: OnWait;
  /** The interval of the commit loop, in milliseconds; a second by default. */
  commitIntervalMs?: number;
  /** A process that the servers refuse for this long ends, in milliseconds; a minute by default. */
  refusalLimitMs?: number;
};

/** The servers of a projector that is admitted, and the generation that it follows. */
type Connected = {
  control: Db;
  /** The documents of the generation. */
  database: Db;
  generation: number;
  /** The generation as it was registered at the start. */
  registered: Generation;
  own: OwnMembership;
  brokers: Brokers;
  /** The group that can be joined. */
  groupId: string;
  /** Receives each further condition that the start waits for, and stores it for operators. */
  onWait: OnWait;
};

export type RunningProjector = {
  /** The number of its generation. */
  generation: number;
  /** Null while the process is alive; otherwise the reason for a restart. */
  live: () => string | null;
  /** Finishes the chunks in progress, commits, and leaves the group. */
  stop: () => Promise<void>;
};

/** How often the size of the dead letters is measured for the metrics, in milliseconds. */
const measureRoomEveryMs = 15_000;

/**
 * Starts a projector on a generation, as one of any number of members of its group. Waits for MongoDB, the brokers and
 * the topics. Rejects with `StartRefused` if one of them refuses the projector, if its generation has followed other
 * topics, or if another client is in the group.
 */
export async function startProjector(deps: ProjectorDeps): Promise<RunningProjector> {
  const { DATABASE_NAME: name, GENERATION: generation = null } = deps.config;
  const report = createWaitingReport(controlDatabase(deps.mongo, name), generation);
  const brokers = createBrokers(deps.kafka);
  try {
    return await start(deps, brokers, report);
  } catch (error) {
    const refusal = error instanceof StartRefused ? error : withRemedy(error);
    await report.store('refused', refusal.message);
    // Not awaited: brokers that are silent would keep the process from its end.
    void brokers.disconnect().catch(() => undefined);
    throw refusal;
  }
}

async function start(
  deps: ProjectorDeps,
  brokers: Brokers,
  report: WaitingReport,
): Promise<RunningProjector> {
  const { config, metrics, logger, topics } = deps;
  const { nowMs = () => performance.now(), commitIntervalMs, refusalLimitMs } = deps;
  const connected = await connect(deps, brokers, report);
  const { control, database, generation, registered, onWait } = connected;
  const { admin, log } = brokers;
  const clock = createStoreClock(() => storeTime(control), nowMs);
  const { now } = clock;
  await waitUntil(onWait, clock.read);
  const allowanceMs = config.LATENESS_ALLOWANCE_SECONDS * 1_000;
  // Host and process, for the history and for failures.
  const by = `projector ${hostname()} ${process.pid}`;
  const followed = { control, generation, allowanceMs, now, by, metrics, logger };
  const positions = createPositions(nowMs);
  const engine = createEngine({ control, database, generation, now, positions, metrics, logger }, config);
  const applier = createApplier(engine, metrics);
  // Set before the first record is read: a build must not begin with records after its load.
  applyGenerationSettings({ positions, applier }, registered);
  // Run before the first commit: the old watermark shows how long no projector ran.
  const startedAt = await waitUntil(onWait, () => recordAbsence({ ...followed, admin, topics }));
  const onFatal = storingEnd(followed, deps.onFatal);
  const consumer = await consume(deps, connected, { positions, apply: applier.apply, onFatal });
  // A dropped generation is a normal end: it is not stored as a failure.
  const following = followRegistry({ ...followed, positions, applier, onFatal: deps.onFatal });
  const sweepStore = mongoSweepStore({ control, database, prefix: config.TOPIC_PREFIX, now });
  const isOwner = () => ownsSweep(consumer.snapshot(), config.TOPIC_PREFIX);
  const expire = () => expireMarks(control, log, topics);
  const sweeper = startSweeper({ ...engine, sweepStore, expireMarks: expire, isOwner, metrics, logger });
  const measuring = measureRoom(engine.room, metrics, logger);
  const watching = watchTopics({ admin, log, topics, generation: registered, metrics, logger });
  const liveness = createLiveness(nowMs());
  const commitLoop = startCommitLoop(
    {
      ...followed,
      // Without `GENERATION` a restart may follow another generation.
      isPinned: config.GENERATION !== undefined,
      topics,
      log,
      startedAt,
      positions,
      liveness,
      kafkaWatch: createKafkaWatch(report, now),
      refusalLimit: createRefusalLimit(nowMs, refusalLimitMs),
      onFatal,
      clock,
      nowMs,
    },
    consumer,
    commitIntervalMs,
  );
  consumer.onApplied(countApplied(metrics, logger, commitLoop));
  const brokerWatch = watchBrokers({ kafka: deps.kafka, log, topics });
  const loops = [brokerWatch, commitLoop, sweeper, following, measuring, watching];
  const disconnect = () => Promise.all([brokers.disconnect(), report.clear(now())]);
  return {
    generation,
    live: () => liveness.failure(nowMs()) ?? brokerWatch.failure(),
    stop: () => shutDown({ loops, consumer, flush: commitLoop.flush, disconnect }),
  };
}

/** Connects to the servers, and makes every check that may refuse the start. */
async function connect(deps: ProjectorDeps, brokers: Brokers, report: WaitingReport): Promise<Connected> {
  const { config, mongo, metrics, logger, topics } = deps;
  const { control, registered, database } = await openStore(mongo, config, deps.onWait);
  // Only now: before the driver has connected, a command would close its topology for good.
  const onWait = reportingWaits(deps.onWait, report);
  const generation = registered.number;
  await waitUntil(onWait, () => checkProgress({ control, topics, logger }, registered));
  initializeMetrics(metrics, generation, topics);
  await waitUntil(onWait, () => refuseGaps({ control, generation }));
  const following = { control, config, generation, topics, onWait };
  const own = await requireMembership(following);
  const groupId = groupIdOf(config, generation);
  await connectBrokers(brokers, topics, groupId, onWait);
  const { admin, log } = brokers;
  await refuseOtherCluster(following, log);
  await refuseStrangers(admin, groupId, own, onWait);
  await refuseUnadmitted(log, { groupId, own, sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS }, onWait);
  return { control, database, generation, registered, own, brokers, groupId, onWait };
}

/** Joins the group, and begins to read. */
function consume(
  { config, kafka, metrics, logger }: ProjectorDeps,
  { control, generation, registered, own, brokers, groupId }: Connected,
  { positions, apply, onFatal }: Pick<ConsumerDeps, 'positions' | 'apply' | 'onFatal'>,
): Promise<RunningConsumer> {
  const { admin, log } = brokers;
  return startConsumer({
    kafka,
    admin,
    log,
    groupId,
    own,
    control,
    generation,
    positions,
    apply,
    prerequisitesOf: (topic) => prerequisiteTopics(topic, config.TOPIC_PREFIX),
    logger,
    queuedBytesMax: config.QUEUED_MEGABYTES_MAX * 1024 * 1024,
    sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS,
    beginningOf: (key) => beginningOf(registered, key),
    onFetched: (topic, records) => metrics.fetched.inc({ topic }, records),
    onForeignCommit: (topic) => metrics.foreignCommits.inc({ topic }),
    onFatal,
  });
}

const measureRoom = (room: DeadLetterRoom, metrics: Metrics, logger: Logger) =>
  repeat(async () => metrics.deadLetterRoom.set(await room.filled()), {
    intervalMs: measureRoomEveryMs,
    onError: (error) => logger.warn({ error }, 'the dead letters could not be measured'),
  });

/** Stores why the projector ends, before it does. Of several errors, the first one counts. */
function storingEnd(ending: EndingDeps, onFatal: (error: Error) => void): (error: Error) => void {
  let stored: Promise<void> | null = null;
  return (error) => {
    const end = withRemedy(error);
    stored ??= storeEnd(ending, end).then(() => onFatal(end));
  };
}

/** Also stores each condition that the start waits for, for operators. */
const reportingWaits =
  (onWait: OnWait, report: WaitingReport): OnWait =>
  (condition, reason) => {
    onWait(condition, reason);
    void report.store('starting', `${condition}: ${reason}`);
  };

/** The topics whose entities the documents of a topic refer to. */
function prerequisiteTopics(topic: string, prefix: string): string[] {
  const kind = kindOfTopic(topic, prefix);
  return kind ? prerequisites(kind).map((of) => topicOf(of, prefix)) : [];
}

/** Counts applied events and dead letters. An event older than the watermark counts as late. */
const countApplied =
  (metrics: Metrics, logger: Logger, { watermarkMs }: Pick<CommitLoop, 'watermarkMs'>) =>
  ({ topic }: TopicPartition, { events, rejected, times }: Applied): void => {
    metrics.events.inc({ topic }, events);
    for (const reason of rejected) metrics.deadLetters.inc({ topic, reason });
    metrics.late.inc({ topic }, times.filter((time) => time < watermarkMs()).length);
    if (rejected.length > 0)
      logger.warn({ topic, rejected: rejected.length }, 'records were stored as dead letters');
  };
