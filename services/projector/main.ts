import { monitorPools } from '../../shared/control/pool-monitor.ts';
import { createKafka } from '../../shared/kafka/client.ts';
import { topicsOf } from '../../shared/kafka/topics.ts';
import { serveAdmin } from '../../shared/runtime/admin-server.ts';
import { configOrExit } from '../../shared/runtime/config.ts';
import { warnOfFewDescriptors } from '../../shared/runtime/file-descriptors.ts';
import { boundHeapGrowth, boundYoungGeneration } from '../../shared/runtime/heap.ts';
import { type Closer, onShutdown, startedOrExit } from '../../shared/runtime/lifecycle.ts';
import { registerLinesLost } from '../../shared/runtime/log-metrics.ts';
import { createLogOutput } from '../../shared/runtime/log-output.ts';
import { createLogger } from '../../shared/runtime/logger.ts';
import { createMongo } from '../../shared/store/connection.ts';
import { registerPools } from '../../shared/store/pool-metrics.ts';
import { projectorConfig } from './config.ts';
import { shutdownGraceMs } from './consumer/consumer.ts';
import { createMetrics } from './metrics.ts';
import { startProjector } from './projector.ts';
import { monitorWallClock, restartExitCode, WallClockChanged } from './wall-clock.ts';

/** Enough for a cluster of some ten brokers. */
const kafkaConnections = 30;
/** With 50 percent, the projector would use an eighth more processor time, and save at most 28 MB of memory. */
const heapGrowthPercent = 100;

boundHeapGrowth(heapGrowthPercent);
boundYoungGeneration();
const config = configOrExit(projectorConfig(process.env), 'projector');
const logOutput = createLogOutput();
const logger = createLogger('projector', config.LOG_LEVEL, logOutput);
const metrics = createMetrics();
registerLinesLost(metrics.registry, logOutput);
const kafka = createKafka(config, logger);
const mongo = createMongo(config.MONGODB_URL, 'projector', { poolSize: 40 });
registerPools(metrics.registry, { data: mongo });
warnOfFewDescriptors(logger, mongo.options.maxPoolSize + kafkaConnections);
const closers: Closer[] = [];
const stop = onShutdown(logger, closers);

const onFatal = (error: Error) => {
  logger.fatal({ error }, 'the projector cannot continue');
  stop(error instanceof WallClockChanged ? restartExitCode : 1);
};
monitorWallClock(onFatal);

const poolMonitor = monitorPools({
  pools: { data: mongo },
  createFresh: () => createMongo(config.MONGODB_URL, 'projector-check', { poolSizeMax: 1 }),
  database: config.DATABASE_NAME,
  logger,
});
closers.push({ name: 'pool monitor', close: async () => poolMonitor.stop(), deadlineMs: 1_000 });
let livenessFailure: () => string | null = () => null;
let notReady: string | null = 'starting';
const probes = { live: () => livenessFailure() ?? poolMonitor.failure(), ready: () => notReady };
await serveAdmin(config, logger, { ...probes, metrics: metrics.registry });

const topics = topicsOf(config.TOPIC_PREFIX);
const onWait = (condition: string, reason: string) => {
  notReady = `waiting: ${condition}`;
  logger.warn({ reason }, notReady);
};
const starting = startProjector({ config, kafka, mongo, metrics, logger, topics, onFatal, onWait });
const projector = await startedOrExit(logger, starting);
livenessFailure = projector.livenessFailure;
notReady = null;
closers.push(
  // Ten seconds to save progress and to leave the group, after the chunks in progress.
  { name: 'projector', close: projector.stop, deadlineMs: shutdownGraceMs + 10_000 },
  { name: 'store', close: () => mongo.close(), deadlineMs: 5_000 },
);
const isPinned = config.GENERATION !== undefined;
logger.info({ generation: projector.generation, isPinned }, 'projecting');
