import type { MongoClient } from 'mongodb';
import { startAdminServer } from '../../shared/runtime/admin-server.ts';
import { configOrExit } from '../../shared/runtime/config.ts';
import { activeGeneration, watermark } from '../../shared/store/generations.ts';
import { boundHeapGrowth } from '../../shared/runtime/heap.ts';
import { missingIndexes } from '../../shared/store/indexes.ts';
import { onShutdown, startedOrExit, type Closer } from '../../shared/runtime/lifecycle.ts';
import { createLogger } from '../../shared/runtime/logger.ts';
import { controlDatabase, createMongo, generationDatabase } from '../../shared/store/connection.ts';
import { createApp } from './app.ts';
import { createApiKeyCache } from './auth/api-key-cache.ts';
import { createAuthFailureLimiter } from './auth/auth-failure-limiter.ts';
import { readApiConfig, type ApiConfig } from './config.ts';
import { readCertificate, watchCertificate, type CertificateFiles } from './server/certificate.ts';
import { createMetrics } from './metrics.ts';
import { startServer } from './server/server.ts';
import type { Credentials } from './server/tls.ts';
import { createSpec } from './openapi/spec.ts';
import { createRateLimiter } from './rate-limit/create-rate-limiter.ts';
import { createRegistry } from './resources/registry.ts';
import { poolTimeoutMs, readOptions, serverTimeoutMs } from './store/deadline.ts';
import { createReaders } from './store/reader.ts';
import { watchReadiness } from './store/readiness.ts';
import { createReadSnapshots } from './store/read-snapshot.ts';
import { startTracing } from './traces/start.ts';

/**
 * Connections for keys, freshness and request traces, apart from those for data: however slow data is to read, keys
 * are still looked up.
 */
const authPoolSizeMax = 4;

/** Requests begun get this long to end when the service stops, in milliseconds. */
const shutdownDeadlineMs = 25_000;

boundHeapGrowth();
const config = configOrExit(readApiConfig(process.env));
const certificate = configOrExit(readCredentials(config));
const logger = createLogger('api', config.LOG_LEVEL);
const mongo = createMongo(config.MONGODB_URL, 'support-api', { poolTimeoutMs });
const authMongo = createMongo(config.MONGODB_URL, 'support-api-auth', {
  poolSizeMax: authPoolSizeMax,
  poolTimeoutMs,
});
const control = controlDatabase(authMongo, config.DATABASE_NAME);
const inGeneration = (client: MongoClient, generation: number) =>
  generationDatabase(client, config.DATABASE_NAME, generation);
const nowMs = () => performance.now();
const docs = { docsUrl: config.DOCS_URL, baseUrl: config.API_BASE_URL };
const metrics = createMetrics();
const snapshots = createReadSnapshots({
  connect: () => Promise.all([mongo.connect(), authMongo.connect()]),
  activeGeneration: () => activeGeneration(control, readOptions()),
  watermark: (generation) => watermark(control, generation, readOptions()),
  missingIndexes: (database) => missingIndexes(database, { maxTimeMS: serverTimeoutMs }),
  databasesOf: (generation) => ({
    database: inGeneration(mongo, generation),
    authDatabase: inGeneration(authMongo, generation),
  }),
  logger,
  nowMs,
});
const limit = { requests: config.RATE_LIMIT_REQUESTS, windowSeconds: config.RATE_LIMIT_WINDOW_SECONDS };
const rateLimiter = createRateLimiter(
  { nowMs, logger, fallbacks: metrics.rateLimitFallbacks },
  { limit, storeUrl: config.RATE_LIMIT_STORE_URL },
);
const readiness = watchReadiness({ snapshots, logger });
const routes = createRegistry({ now: () => new Date(), brand: config.BRAND });
const tracing = config.REQUEST_TRACES
  ? startTracing(
      { control, routes, metrics, logger, nowMs },
      { keptDays: config.REQUEST_TRACE_DAYS, keylessMax: config.REQUEST_TRACES_KEYLESS_MAX },
    )
  : null;
const trace = tracing?.trace ?? null;
const app = createApp({
  routes,
  document: createSpec({ docs, brand: config.BRAND, limit }, routes),
  snapshots,
  apiKeys: createApiKeyCache({ nowMs }),
  authFailures: createAuthFailureLimiter({ limit: { ...limit, requests: config.AUTH_FAILURE_LIMIT }, nowMs }),
  limit,
  requestsMax: config.API_REQUESTS_MAX,
  openReader: createReaders({
    bytesMax: config.API_ANSWERS_MB_MAX * 1_024 * 1_024,
    connectionsMax: mongo.options.maxPoolSize || Infinity,
    scanEntriesMax: config.API_SCAN_ENTRIES_MAX,
    nowMs,
  }),
  rateLimiter,
  docs,
  trustedProxies: config.API_TRUSTED_PROXIES,
  brand: config.BRAND,
  metrics,
  trace,
  logger,
});
const web = await startedOrExit(
  logger,
  startServer(
    { listener: app.callback(), logger, docs, trace, ...metrics },
    {
      host: config.API_HOST,
      port: config.API_PORT,
      credentials: certificate?.pair ?? null,
      connectionsMax: config.API_CONNECTIONS_MAX,
      addressConnectionsMax: config.API_CONNECTIONS_PER_ADDRESS_MAX,
      trustedProxies: config.API_TRUSTED_PROXIES,
    },
  ),
);
const watch =
  certificate && watchCertificate({ logger, use: web.useCertificate }, certificate.files, certificate.pair);
const closers: Closer[] = [
  { name: 'readiness', close: async () => readiness.stop() },
  ...(watch ? [{ name: 'certificate', close: async () => watch.stop() }] : []),
  { name: 'server', close: web.stop },
  ...(tracing ? [{ name: 'traces', close: tracing.stop }] : []),
  { name: 'rate limit store', close: async () => rateLimiter.stop() },
  { name: 'store', close: async () => void (await Promise.all([mongo.close(), authMongo.close()])) },
];
onShutdown(logger, closers, shutdownDeadlineMs);
logger.info({ ...web.address, scheme: certificate ? 'https' : 'http' }, 'listening');
if (!certificate && config.API_TRUSTED_PROXIES.length === 0) {
  logger.warn(
    'neither API_TLS_CERT and API_TLS_KEY nor API_TRUSTED_PROXIES are set: every request but /health is refused',
  );
}
if (!config.API_BASE_URL && !config.DOCS_URL) {
  logger.warn('neither API_BASE_URL nor DOCS_URL is set: links in errors lead to localhost');
}
if (config.ADMIN_PORT !== undefined) {
  const options = {
    port: config.ADMIN_PORT,
    live: () => null,
    ready: readiness.reason,
    metrics: metrics.registry,
  };
  const admin = await startedOrExit(logger, startAdminServer(options));
  logger.info({ port: admin.port }, 'admin listening');
}

function readCredentials({
  API_TLS_CERT: cert,
  API_TLS_KEY: key,
}: ApiConfig): { config: { files: CertificateFiles; pair: Credentials } | null } | { faults: string[] } {
  if (!cert || !key) return { config: null };
  try {
    return { config: { files: { cert, key }, pair: readCertificate({ cert, key }) } };
  } catch (error) {
    return {
      faults: [`API_TLS_CERT, API_TLS_KEY: ${error instanceof Error ? error.message : String(error)}`],
    };
  }
}
