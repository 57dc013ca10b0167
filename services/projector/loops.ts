import type { Kafka } from 'kafkajs';
import type { Logger } from '../../shared/runtime/logger.ts';
import type { Announcement } from './announce-projector.ts';
import { monitorBrokers } from './broker-monitor.ts';
import type { RunningConsumer } from './consumer/consumer.ts';
import { countApplied } from './count-applied.ts';
import { monitorDeadLetters } from './dead-letters/dead-letter-monitor.ts';
import { followRegistry } from './generations/follow.ts';
import { createKafkaMonitor } from './kafka-monitor.ts';
import type { Metrics } from './metrics.ts';
import type { PreparedProjector } from './prepare.ts';
import { type CommitLoopDeps, startCommitLoop } from './progress/commit-loop.ts';
import { createLiveness } from './progress/liveness.ts';
import { createRefusalLimit } from './refusal-limit.ts';
import { mongoSweepStore } from './retention/mongo-sweep-store.ts';
import { ownsSweep, startSweeper } from './retention/sweeper.ts';
import type { ReadyServers } from './startup/wait-for-servers.ts';
import { monitorTopics } from './topic-monitor.ts';

type LoopDeps = {
  kafka: Kafka;
  metrics: Metrics;
  logger: Logger;
  topics: string[];
  /** A monotonic clock, in milliseconds. */
  nowMs: () => number;
  /** Host and process, for the history of generations. */
  by: string;
  announcement: Announcement;
  consumer: RunningConsumer;
  commitIntervalMs?: number;
  refusalLimitMs?: number;
  /** The process must exit with an error, which is announced. */
  onFatal: (error: Error) => void;
  /** Called if the generation was dropped. This is a normal end, which is announced without a reason. */
  onDropped: (error: Error) => void;
};

/** The running loops of a projector, as one part of the process. */
export type Loops = {
  livenessFailure: () => string | null;
  /** Saves progress and commits, once. */
  flush: () => Promise<void>;
  /** The loops. A stopped loop starts no further run. */
  running: { stop: () => unknown }[];
};

/** Starts every loop of a projector that consumes. The table in docs/architecture.md lists them. */
export function startLoops(deps: LoopDeps, servers: ReadyServers, prepared: PreparedProjector): Loops {
  const { metrics, logger, topics, nowMs, announcement, consumer } = deps;
  const { control, database, registered, brokers } = servers;
  const { clock, positions, engine, applier } = prepared;
  const generation = registered.number;
  const liveness = createLiveness(nowMs());
  const shared = {
    control,
    generation,
    allowanceMs: prepared.allowanceMs,
    now: clock.now,
    by: deps.by,
    metrics,
    logger,
  };
  const registryFollower = followRegistry({ ...shared, positions, applier, onFatal: deps.onDropped });
  const { prefix } = engine;
  const sweeper = startSweeper({
    ...engine,
    sweepStore: mongoSweepStore({ control, database, prefix, generation, now: clock.now }),
    isOwner: () => ownsSweep(consumer.snapshot(), prefix),
    announceSweep: (sweep) => announcement.set({ duties: { sweep } }),
    metrics,
    logger,
  });
  const deadLetterMonitor = monitorDeadLetters(engine, metrics, logger);
  const topicMonitor = monitorTopics({ ...brokers, topics, generation: registered, metrics, logger });
  const brokerMonitor = monitorBrokers({ kafka: deps.kafka, logClient: brokers.log, topics });
  const commitLoopDeps: CommitLoopDeps = {
    ...shared,
    processId: announcement.id,
    topics,
    log: brokers.log,
    startedAt: prepared.startedAt,
    positions,
    liveness,
    kafkaMonitor: createKafkaMonitor(announcement),
    refusalLimit: createRefusalLimit(nowMs, deps.refusalLimitMs),
    onFatal: deps.onFatal,
    clock,
    nowMs,
  };
  const commitLoop = startCommitLoop(commitLoopDeps, consumer, deps.commitIntervalMs);
  const countDeps = { metrics, logger, watermarkMs: commitLoop.watermarkMs };
  consumer.onApplied((place, applied) => countApplied(countDeps, place, applied));
  return {
    livenessFailure: () => liveness.failure(nowMs()) ?? brokerMonitor.failure(),
    flush: () => commitLoop.flush(),
    running: [brokerMonitor, commitLoop, sweeper, registryFollower, deadLetterMonitor, topicMonitor],
  };
}
