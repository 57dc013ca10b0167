import { setTimeout as sleep } from 'node:timers/promises';
import { monitorPools } from '../../shared/control/pool-monitor.ts';
import { serveAdmin } from '../../shared/runtime/admin-server.ts';
import { configOrExit } from '../../shared/runtime/config.ts';
import { warnOfFewDescriptors } from '../../shared/runtime/file-descriptors.ts';
import { boundHeapGrowth } from '../../shared/runtime/heap.ts';
import { type Closer, onShutdown, startedOrExit } from '../../shared/runtime/lifecycle.ts';
import { registerLinesLost } from '../../shared/runtime/log-metrics.ts';
import { createLogOutput } from '../../shared/runtime/log-output.ts';
import { createLogger } from '../../shared/runtime/logger.ts';
import { createMongo } from '../../shared/store/connection.ts';
import { registerPools } from '../../shared/store/pool-metrics.ts';
import { startApi } from './api.ts';
import { readApiConfig } from './config.ts';
import { createMetrics } from './metrics.ts';
import {
  type CertificateFiles,
  notAfterSeconds,
  pollCertificate,
  readCertificate,
} from './server/certificate.ts';
import type { Credentials } from './server/tls.ts';
import { driverTimeouts } from './store/deadline.ts';
import { pollReadiness } from './store/readiness.ts';

/** The log collects lines before it writes them, because a write for each line would cost more processor time. */
const logBatchBytes = 4_096;
/** Under 256 connections, this bound lowered the API's memory from 434 to 314 MB, for the same processor time. */
const heapGrowthPercent = 60;
/** The maximum of connections for keys, watermarks and request traces. */
const authPoolSizeMax = 4;

const nowMs = () => performance.now();

boundHeapGrowth(heapGrowthPercent);
const config = configOrExit(readApiConfig(process.env), 'api');
const { API_TLS_CERT: cert, API_TLS_KEY: key } = config;
const certificateFiles = cert && key ? { cert, key } : null;
const credentials = certificateFiles && readCertificate(certificateFiles);
const logOutput = createLogOutput({ batchBytes: logBatchBytes });
const logger = createLogger('api', config.LOG_LEVEL, logOutput);
const metrics = createMetrics();
registerLinesLost(metrics.registry, logOutput);
const mongo = createMongo(config.MONGODB_URL, 'support-api', { timeouts: driverTimeouts });
const authMongo = createMongo(config.MONGODB_URL, 'support-api-auth', {
  poolSizeMax: authPoolSizeMax,
  timeouts: driverTimeouts,
});
registerPools(metrics.registry, { data: mongo, auth: authMongo });
warnOfFewDescriptors(logger, config.API_CONNECTIONS_MAX + mongo.options.maxPoolSize + authPoolSizeMax);
const api = await startedOrExit(
  logger,
  startApi({ config, mongo, authMongo, metrics, logger, credentials, nowMs }),
);
const readiness = pollReadiness({ snapshots: api.snapshots, metrics, logger, nowMs });
const poolMonitor = monitorPools({
  pools: { data: mongo, auth: authMongo },
  createFresh: () =>
    createMongo(config.MONGODB_URL, 'support-api-check', { poolSizeMax: 1, timeouts: driverTimeouts }),
  database: config.DATABASE_NAME,
  logger,
});
const certificatePolling =
  certificateFiles && credentials && followCertificate(certificateFiles, credentials);
const shutdownDelayMs = config.SHUTDOWN_DELAY_SECONDS * 1_000;
const closers: Closer[] = [
  { name: 'drain', close: drain, deadlineMs: shutdownDelayMs + 1_000 },
  ...api.closers,
  { name: 'store', close: () => Promise.all([mongo.close(), authMongo.close()]), deadlineMs: 1_000 },
];
onShutdown(logger, closers);
logger.info({ ...api.address, scheme: credentials ? 'https' : 'http' }, 'listening');
if (!credentials && config.API_TRUSTED_PROXIES.length === 0) {
  logger.warn(
    'neither API_TLS_CERT and API_TLS_KEY nor API_TRUSTED_PROXIES are set: every request but /health is refused',
  );
}
if (!config.API_BASE_URL) {
  logger.warn('API_BASE_URL is not set: links in errors lead to localhost');
}
const probes = { live: poolMonitor.failure, ready: readiness.reason };
await serveAdmin(config, logger, { ...probes, metrics: metrics.registry });

/** Load balancers need some seconds to notice that this replica is not ready. Until then it answers their requests. */
async function drain(): Promise<void> {
  readiness.stop();
  poolMonitor.stop();
  api.drain();
  await sleep(shutdownDelayMs);
  void certificatePolling?.stop();
}

/** Serves a renewed certificate as soon as its files change. A metric shows when the certificate in use expires. */
function followCertificate(files: CertificateFiles, first: Credentials) {
  const show = (inUse: Credentials) => metrics.certificateEnd.set(notAfterSeconds(inUse));
  const use = (renewed: Credentials) => {
    api.useCertificate(renewed);
    show(renewed);
  };
  show(first);
  return pollCertificate({ logger, use }, files, first);
}
