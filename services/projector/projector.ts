import { hostname } from 'node:os';
import type { Kafka } from 'kafkajs';
import type { MongoClient } from 'mongodb';
import { processText, removeOldProcesses } from '../../shared/control/processes.ts';
import { beginningOf } from '../../shared/control/registry.ts';
import { type Brokers, createBrokers } from '../../shared/kafka/brokers.ts';
import { withFix } from '../../shared/kafka/errors.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import { controlDatabase } from '../../shared/store/connection.ts';
import { type Announcement, announceProjector } from './announce-projector.ts';
import type { ProjectorConfig } from './config.ts';
import { type RunningConsumer, startConsumer } from './consumer/consumer.ts';
import { createPartitionFactory } from './create-partition.ts';
import { storeEndBefore } from './generations/ending.ts';
import { startLoops } from './loops.ts';
import type { Metrics } from './metrics.ts';
import { prepare, type PreparedProjector } from './prepare.ts';
import { shutDown } from './shut-down.ts';
import { type ReadyServers, waitForServers } from './startup/wait-for-servers.ts';
import { type OnWait, StartRefused } from './startup/wait-until.ts';

/**
 * The most bytes of fetched batches that wait, compressed. Their decompressed records may take as much again. More
 * would not make a projector faster, because applying a record takes longer than fetching it.
 */
const queuedBytesMax = 32 * 1_024 * 1_024;

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
  /** How long the servers may refuse this process before it ends, in milliseconds; a minute by default. */
  refusalLimitMs?: number;
};

export type RunningProjector = {
  /** The number of its generation. */
  generation: number;
  /** Null while the process is alive; otherwise the reason for a restart. */
  livenessFailure: () => string | null;
  /** Finishes the chunks in progress, commits, and leaves the group. */
  stop: () => Promise<void>;
};

/**
 * Starts a projector on a generation, as one of any number of members of its group. Waits for MongoDB, the brokers and
 * the topics. Rejects with `StartRefused` if one of them refuses the projector, if its generation has followed other
 * topics, or if another client is in the group.
 */
export async function startProjector(deps: ProjectorDeps): Promise<RunningProjector> {
  const { config, logger } = deps;
  const control = controlDatabase(deps.mongo, config.DATABASE_NAME);
  const announcement = announceProjector({ control, config, logger });
  const brokers = createBrokers(deps.kafka);
  try {
    return await start(deps, brokers, announcement);
  } catch (error) {
    const refusal = error instanceof StartRefused ? error : withFix(error);
    await announcement.end('refused', refusal.message);
    // Not awaited, because silent brokers would delay the end of the process.
    void brokers.disconnect();
    throw refusal;
  }
}

/** Waits for the servers, prepares the engine for the generation, joins the group, and starts the loops. */
async function start(
  deps: ProjectorDeps,
  brokers: Brokers,
  announcement: Announcement,
): Promise<RunningProjector> {
  const { nowMs = () => performance.now(), logger } = deps;
  const servers = await waitForServers({ ...deps, brokers, announcement });
  const prepared = await prepare({ ...deps, nowMs }, servers);
  const { control, registered } = servers;
  const generation = registered.number;
  // Host and process, for the history of generations and for gaps.
  const by = `projector (${processText({ pid: process.pid, host: hostname() })})`;
  const { now } = prepared.clock;
  const onFatal = storeEndBefore(deps.onFatal, { control, generation, by, now, announcement, logger });
  const consumer = await joinGroup(deps, servers, prepared, onFatal);
  // `onDropped` stores no end, because a dropped generation is a normal one.
  const onDropped = deps.onFatal;
  const loopDeps = { ...deps, nowMs, by, announcement, consumer, onFatal, onDropped };
  const loops = startLoops(loopDeps, servers, prepared);
  // This projector follows the generation, so the reasons why earlier projectors ended no longer apply. A failure only
  // leaves them until the next start.
  void removeOldProcesses(control, now(), generation).catch(() => undefined);
  const disconnect = () => Promise.all([brokers.disconnect(), announcement.end('ended', null)]);
  return {
    generation,
    livenessFailure: loops.livenessFailure,
    stop: () => shutDown({ loops: loops.running, consumer, flush: loops.flush, disconnect }),
  };
}

/** Joins the group, and begins to read. */
function joinGroup(
  deps: ProjectorDeps,
  servers: ReadyServers,
  prepared: PreparedProjector,
  onFatal: (error: Error) => void,
): Promise<RunningConsumer> {
  const { config, metrics, logger } = deps;
  const { control, registered } = servers;
  const { positions } = prepared;
  const generation = registered.number;
  const createPartition = createPartitionFactory({
    control,
    generation,
    apply: prepared.applier.apply,
    positions,
    prefix: config.TOPIC_PREFIX,
    logger,
    onFatal,
  });
  return startConsumer({
    kafka: deps.kafka,
    admin: servers.brokers.admin,
    log: servers.brokers.log,
    groupId: servers.groupId,
    protocol: servers.protocol,
    topics: deps.topics,
    control,
    generation,
    positions,
    createPartition,
    logger,
    queuedBytesMax,
    sessionTimeoutMs: config.KAFKA_SESSION_TIMEOUT_MS,
    beginningOf: (key) => beginningOf(registered, key),
    onFetched: (topic, records) => metrics.fetched.inc({ topic }, records),
    onForeignCommit: (topic) => metrics.foreignCommits.inc({ topic }),
    onFatal,
  });
}
