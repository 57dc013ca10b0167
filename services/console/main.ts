import { monitorPools } from '../../shared/control/pool-monitor.ts';
import { createBrokers } from '../../shared/kafka/brokers.ts';
import { createKafka } from '../../shared/kafka/client.ts';
import { configOrExit } from '../../shared/runtime/config.ts';
import { boundHeapGrowth } from '../../shared/runtime/heap.ts';
import { onShutdown, startedOrExit } from '../../shared/runtime/lifecycle.ts';
import { createLogger } from '../../shared/runtime/logger.ts';
import { createMongo } from '../../shared/store/connection.ts';
import { readConsoleConfig } from './config.ts';
import { createReconnectingKafka } from './connections.ts';
import { startConsole } from './console.ts';

/** The console has the same bound as the API, for which it was measured. */
const heapGrowthPercent = 60;

boundHeapGrowth(heapGrowthPercent);
const config = configOrExit(readConsoleConfig(process.env), 'console');
const logger = createLogger('console', config.LOG_LEVEL);
const mongo = createMongo(config.MONGODB_URL, 'support-console', { poolSizeMax: 10 });
const poolMonitor = monitorPools({
  pools: { data: mongo },
  createFresh: () => createMongo(config.MONGODB_URL, 'support-console-check', { poolSizeMax: 1 }),
  database: config.DATABASE_NAME,
  logger,
});
// One retry only: a page must show soon that Kafka is unavailable. The next load of the page tries again.
const client = createKafka(config, logger, { retries: 1 });
const kafka = createReconnectingKafka(() => createBrokers(client));
const { address, close } = await startedOrExit(
  logger,
  startConsole({ config, mongo, kafka, logger, livenessFailure: poolMonitor.failure }),
);
onShutdown(logger, [
  { name: 'pool monitor', close: async () => poolMonitor.stop(), deadlineMs: 1_000 },
  { name: 'server', close, deadlineMs: 5_000 },
  { name: 'Kafka', close: kafka.close, deadlineMs: 5_000 },
  { name: 'MongoDB', close: () => mongo.close(), deadlineMs: 5_000 },
]);
const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
logger.info({ port: address.port, url: `http://${host}:${address.port}/` }, 'listening');
