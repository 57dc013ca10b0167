import type { Db, MongoClient } from 'mongodb';
import type { Closer } from '../../shared/runtime/lifecycle.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import { createStoreClock, storeTime } from '../../shared/store/clock.ts';
import { controlDatabase, readPreferenceOf } from '../../shared/store/connection.ts';
import { announceReplica } from './announce-replica.ts';
import { createApp } from './app.ts';
import { createApiKeyCache, findCallers } from './auth/api-key-cache.ts';
import { createAuthFailureLimiter } from './auth/auth-failure-limiter.ts';
import { createRefuseKey } from './auth/refuse-key.ts';
import { type Bounds, defaultBounds } from './bounds.ts';
import type { ApiConfig } from './config.ts';
import { createCounts } from './counts.ts';
import type { Route } from './http/route.ts';
import { type Metrics, observeBudget } from './metrics.ts';
import { specSettings } from './openapi/info.ts';
import { createSpec } from './openapi/spec.ts';
import { createRateLimiter } from './rate-limit/fallback-rate-limiter.ts';
import { authFailureLimitOf, rateLimitOf, rateLimitStoreOf } from './rate-limit/rate-limit-settings.ts';
import { createRoutes } from './resources/routes.ts';
import { type RunningServer, type ServerOptions, startServer } from './server/server.ts';
import type { Credentials } from './server/tls.ts';
import { createCollectionCheck } from './store/collection-check.ts';
import { readOptions } from './store/deadline.ts';
import { createReadBudget } from './store/read-budget.ts';
import { createReadSnapshots, type ReadSnapshots } from './store/read-snapshot.ts';
import { createReaders } from './store/reader.ts';
import { createSnapshotSources } from './store/snapshot-sources.ts';
import { createUnreadableReport } from './store/unreadable-report.ts';
import { startTracing } from './traces/tracer.ts';
import { startUnauthenticatedBudget } from './unauthenticated-budget.ts';

type ApiDeps = {
  config: ApiConfig;
  mongo: MongoClient;
  /**
   * For keys, watermarks and request traces. They have a pool of their own, because slow reads of data would delay
   * them.
   */
  authMongo: MongoClient;
  /** Null if the API does not terminate TLS. */
  credentials: Credentials | null;
  metrics: Metrics;
  logger: Logger;
  /** The clock that decides about expiry; by default MongoDB's. */
  now?: () => Date;
  /** A monotonic clock, in milliseconds. */
  nowMs: () => number;
  bounds?: Bounds;
};

export type RunningApi = Pick<RunningServer, 'address' | 'drain' | 'useCertificate'> & {
  /** The snapshots that requests read, which also show whether the API is ready. */
  snapshots: ReadSnapshots;
  /** The steps of a stop, in this order. The clients of MongoDB stay open. */
  closers: Closer[];
};

/** Serves the API on its port. Does not wait for MongoDB: until MongoDB answers, requests for data get 503. */
export async function startApi(deps: ApiDeps): Promise<RunningApi> {
  const { config, mongo, authMongo, credentials, metrics, logger, nowMs } = deps;
  const settings = specSettings(config);
  const { baseUrl, keyPrefix, clientPackage } = settings;
  const trustedProxies = config.API_TRUSTED_PROXIES;
  const control = controlDatabase(authMongo, config.DATABASE_NAME);
  const clock = createStoreClock(() => readStoreTime(control), nowMs);
  const { now = clock.now } = deps;
  const routes = createRoutes({ now, brand: config.BRAND });
  const readPreference = readPreferenceOf(config.MONGODB_URL);
  const sourceDeps = { mongo, readPreference, authMongo, control, clock };
  const sources = createSnapshotSources(sourceDeps, config.DATABASE_NAME);
  const snapshots = createReadSnapshots({ ...sources, logger, nowMs });
  const generationsInUse = createCounts<number>();
  const { authFailures, refuseKey, limit, rateLimiter } = createLimits(deps);
  const storeNow = async () => (deps.now ? deps.now() : clock.nowOrRead());
  const tracesDeps = { control, routes, metrics, logger, now: storeNow, nowMs };
  const traces = startTraces(tracesDeps, config, deps.bounds);
  const { trace, admitUnauthenticated } = traces;
  const { budget, openReader, requireCollections } = createReading(deps);
  const app = createApp({
    routes,
    spec: createSpec(settings, routes),
    baseUrl,
    keyPrefix,
    clientPackage,
    trustedProxies,
    authFailures,
    refuseKey,
    apiKeys: createApiKeyCache({ nowMs, lookUp: (...query) => findCallers(control, ...query) }),
    snapshots,
    generationsInUse,
    requireCollections,
    openReader,
    budget,
    requestsMax: config.API_REQUESTS_MAX,
    limit,
    rateLimiter,
    metrics,
    trace,
    admitUnauthenticated,
    logger,
    nowMs,
  });
  const unparsedDeps = { logger, baseUrl, trace, admitUnauthenticated };
  const { address, drain, stop, useCertificate } = await startServer(
    { listener: app.callback(), ...unparsedDeps, nowMs, connectionsRefused: metrics.connectionsRefused },
    serverOptions(config, credentials),
  );
  const announcement = announceReplica({ control, snapshots, generationsInUse, metrics, logger, now });
  const closers: Closer[] = [
    { name: 'server', close: stop, deadlineMs: 16_000 },
    // This comes after the server, because a drop of a generation must wait for the last request of this replica.
    { name: 'announcement', close: announcement.stop, deadlineMs: 2_000 },
    ...traces.closers,
    { name: 'rate limit store', close: async () => rateLimiter.stop(), deadlineMs: 1_000 },
  ];
  return { address, snapshots, drain, useCertificate, closers };
}

/**
 * The part of all connections that one client address may have. Otherwise one address could keep the others out. A load
 * balancer that hides the addresses of clients is a trusted proxy, and exempt.
 */
const addressShare = 0.1;

const serverOptions = (config: ApiConfig, credentials: Credentials | null): ServerOptions => ({
  host: config.API_HOST,
  port: config.API_PORT,
  credentials,
  trustedProxies: config.API_TRUSTED_PROXIES,
  connectionsMax: config.API_CONNECTIONS_MAX,
  addressConnectionsMax: Math.max(1, Math.floor(config.API_CONNECTIONS_MAX * addressShare)),
  keepAliveMs: config.API_KEEP_ALIVE_SECONDS * 1_000,
});

type LimitDeps = Pick<ApiDeps, 'config' | 'metrics' | 'logger' | 'nowMs' | 'bounds'>;

/** The limits of each API key, and of each client address without a valid one. */
function createLimits({ config, metrics, logger, nowMs, bounds = defaultBounds }: LimitDeps) {
  const limit = rateLimitOf(config, bounds);
  const limiterDeps = { nowMs, logger, fallbacks: metrics.rateLimitFallbacks };
  const rateLimiter = createRateLimiter(limiterDeps, { limit, store: rateLimitStoreOf(config, bounds) });
  const authFailures = createAuthFailureLimiter({ limit: authFailureLimitOf(bounds), nowMs, logger });
  const refuseKey = createRefuseKey({
    authFailures,
    counted: metrics.authFailuresCounted,
    trustedProxies: config.API_TRUSTED_PROXIES,
  });
  return { limit, rateLimiter, authFailures, refuseKey };
}

type TracesDeps = Pick<ApiDeps, 'metrics' | 'logger' | 'nowMs'> & {
  control: Db;
  routes: Route[];
  /** The store's time. */
  now: () => Promise<Date>;
};

/** The traces of requests, if the API stores them, and the budget of log lines and traces without a valid key. */
function startTraces(
  { control, routes, metrics, logger, now, nowMs }: TracesDeps,
  config: ApiConfig,
  { unauthenticatedMax } = defaultBounds,
) {
  const lost = metrics.tracesLost;
  const keptDays = config.REQUEST_TRACE_DAYS;
  const tracing = keptDays > 0 ? startTracing({ control, routes, lost, logger, now }, keptDays) : null;
  const budgetDeps = { lost: tracing ? lost : null, logger, nowMs };
  const budget = startUnauthenticatedBudget(budgetDeps, unauthenticatedMax);
  const closers: Closer[] = [
    { name: 'budget of unauthenticated requests', close: budget.stop, deadlineMs: 1_000 },
  ];
  if (tracing) closers.push({ name: 'traces', close: tracing.stop, deadlineMs: 4_000 });
  return { trace: tracing?.trace ?? null, admitUnauthenticated: budget.admitUnauthenticated, closers };
}

async function readStoreTime(control: Db): Promise<Date> {
  using limits = readOptions();
  return await storeTime(control, limits);
}

type ReadingDeps = Pick<ApiDeps, 'config' | 'mongo' | 'metrics' | 'logger' | 'nowMs' | 'bounds'>;

/** Creates the readers of requests, within the bytes that all requests together may hold. */
function createReading({ config, mongo, metrics, logger, nowMs, bounds = defaultBounds }: ReadingDeps) {
  const bytesMax = config.API_ANSWERS_MB_MAX * 1_024 * 1_024;
  const { maxPoolSize } = mongo.options;
  // For the driver, a size of 0 is no limit.
  const connectionsMax = maxPoolSize === 0 ? Infinity : maxPoolSize;
  const budget = createReadBudget({ bytesMax, connectionsMax });
  observeBudget(metrics, budget.usage);
  const requireCollections = createCollectionCheck();
  const { scanEntriesMax } = bounds;
  const onUnreadable = createUnreadableReport({ leftOut: metrics.documentsLeftOut, logger, nowMs });
  const openReader = createReaders({ budget, scanEntriesMax, requireCollections, onUnreadable, nowMs });
  return { budget, openReader, requireCollections };
}
