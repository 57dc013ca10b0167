import { ReadConcern, type Db, type MongoClient, type ReadConcernLevel } from 'mongodb';
import type { Closer } from '../../shared/runtime/lifecycle.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import { controlDatabase, generationDatabase } from '../../shared/store/connection.ts';
import { activeGeneration } from '../../shared/control/generations.ts';
import { notAfterNow, watermark } from '../../shared/control/progress.ts';
import { servedIndexes, servedKinds } from '../../shared/documents/served-indexes.ts';
import { resources } from '../../shared/documents/resources.ts';
import { indexFaults, readCollections } from '../../shared/store/structures.ts';
import { createApp } from './app.ts';
import { createApiKeyCache, findCallers } from './auth/api-key-cache.ts';
import { createAuthFailureLimiter } from './auth/auth-failure-limiter.ts';
import { rateLimitStore, type ApiConfig } from './config.ts';
import { createCounts } from './counts.ts';
import { startKeylessBudget } from './keyless-budget.ts';
import type { Route } from './http/route.ts';
import { observeBudget, type Metrics } from './metrics.ts';
import { specSettings } from './openapi/info.ts';
import { createSpec } from './openapi/spec.ts';
import { createRateLimiter } from './rate-limit/fallback-rate-limiter.ts';
import { createRoutes } from './resources/routes.ts';
import { startServer } from './server/server.ts';
import type { Credentials } from './server/tls.ts';
import { announceReplica } from './store/announce-replica.ts';
import { createCollectionCheck } from './store/collection-check.ts';
import { readOptions, type ReadOptions } from './store/deadline.ts';
import { createStoreClock, storeTime, type StoreClock } from '../../shared/store/clock.ts';
import { storeTimeOf } from './store/read-data.ts';
import { createReadSnapshots } from './store/read-snapshot.ts';
import { createReadBudget } from './store/read-budget.ts';
import { createReaders } from './store/reader.ts';
import { createUnreadableReport } from './store/unreadable-report.ts';
import { startTracing } from './traces/tracer.ts';

type ApiDeps = {
  config: ApiConfig;
  mongo: MongoClient;
  /** For keys, watermarks and request traces: however slow reads of data are, keys are still looked up. */
  authMongo: MongoClient;
  /** Null if the API does not terminate TLS. */
  credentials: Credentials | null;
  metrics: Metrics;
  logger: Logger;
  /** The clock that decides about expiry; by default MongoDB's. */
  now?: () => Date;
  /** A monotonic clock, in milliseconds. */
  nowMs: () => number;
};

/**
 * Serves the API on its port. It does not wait for the store: until that is reachable, requests for data are 503.
 * `closers` stop the API, in this order; the clients of the store stay open.
 */
export async function startApi(deps: ApiDeps) {
  const { config, mongo, authMongo, credentials, metrics, logger, nowMs } = deps;
  const settings = specSettings(config);
  const { docs, limit } = settings;
  const trustedProxies = config.API_TRUSTED_PROXIES;
  const control = controlDatabase(authMongo, config.DATABASE_NAME);
  const clock = createStoreClock(() => readStoreTime(control), nowMs);
  const { now = clock.now } = deps;
  const routes = createRoutes({ now, brand: config.BRAND });
  const sources = snapshotSources({ mongo, authMongo, control, clock }, config.DATABASE_NAME);
  const snapshots = createReadSnapshots({ ...sources, logger, nowMs });
  const generationsInUse = createCounts<number>();
  const failureLimit = { ...limit, requests: config.AUTH_FAILURE_LIMIT };
  const limiterDeps = { nowMs, logger, fallbacks: metrics.rateLimitFallbacks };
  const rateLimiter = createRateLimiter(limiterDeps, { limit, store: rateLimitStore(config) });
  const storeNow = async () => (deps.now ? deps.now() : clock.nowOrRead());
  const records = startRecords({ control, routes, metrics, logger, now: storeNow, nowMs }, config);
  const { trace, admitKeyless } = records;
  const app = createApp({
    ...settings,
    routes,
    spec: createSpec(settings, routes),
    snapshots,
    generationsInUse,
    apiKeys: createApiKeyCache({ nowMs, lookUp: (...query) => findCallers(control, ...query) }),
    authFailures: createAuthFailureLimiter({ limit: failureLimit, nowMs, logger }),
    rateLimiter,
    ...reading(deps),
    trustedProxies,
    requestsMax: config.API_REQUESTS_MAX,
    metrics,
    trace,
    admitKeyless,
    logger,
    nowMs,
  });
  const unparsed = { logger, docs, trace, admitKeyless };
  const { address, drain, stop, useCertificate } = await startServer(
    { listener: app.callback(), ...unparsed, nowMs, connectionsRefused: metrics.connectionsRefused },
    {
      host: config.API_HOST,
      port: config.API_PORT,
      credentials,
      trustedProxies,
      connectionsMax: config.API_CONNECTIONS_MAX,
      addressConnectionsMax: config.API_CONNECTIONS_PER_ADDRESS_MAX,
    },
  );
  const announcement = announceReplica({ control, snapshots, generationsInUse, metrics, logger, now });
  const closers: Closer[] = [
    { name: 'server', close: stop, deadlineMs: 16_000 },
    // Until its last request has ended, a drop must wait for this replica.
    { name: 'announcement', close: announcement.stop, deadlineMs: 2_000 },
    ...records.closers,
    { name: 'rate limit store', close: async () => rateLimiter.stop(), deadlineMs: 1_000 },
  ];
  return { address, snapshots, drain, useCertificate, closers };
}

type RecordsDeps = Pick<ApiDeps, 'metrics' | 'logger' | 'nowMs'> & {
  control: Db;
  routes: Route[];
  /** The store's time. */
  now: () => Promise<Date>;
};

/** The traces of requests, if they are stored, and the budget of requests without a valid key. */
function startRecords({ control, routes, metrics, logger, now, nowMs }: RecordsDeps, config: ApiConfig) {
  const lost = metrics.tracesLost;
  const tracing = config.REQUEST_TRACES
    ? startTracing({ control, routes, lost, logger, now }, config.REQUEST_TRACE_DAYS)
    : null;
  const budgetDeps = { lost: tracing ? lost : null, logger, nowMs };
  const budget = startKeylessBudget(budgetDeps, config.REQUEST_TRACES_KEYLESS_MAX);
  const closers: Closer[] = [{ name: 'keyless budget', close: budget.stop, deadlineMs: 1_000 }];
  if (tracing) closers.push({ name: 'traces', close: tracing.stop, deadlineMs: 4_000 });
  return { trace: tracing?.trace ?? null, admitKeyless: budget.admitKeyless, closers };
}

async function readStoreTime(control: Db): Promise<Date> {
  using limits = readOptions();
  return await storeTime(control, limits);
}

type ReadingDeps = Pick<ApiDeps, 'config' | 'mongo' | 'metrics' | 'logger' | 'nowMs'>;

/** How requests read: the bytes that they may hold together, and the entries that one may scan. */
function reading({ config, mongo, metrics, logger, nowMs }: ReadingDeps) {
  const bytesMax = config.API_ANSWERS_MB_MAX * 1_024 * 1_024;
  const budget = createReadBudget({ bytesMax, connectionsMax: mongo.options.maxPoolSize || Infinity });
  observeBudget(metrics, budget.usage);
  const requireCollections = createCollectionCheck();
  const scanEntriesMax = config.API_SCAN_ENTRIES_MAX;
  const onUnreadable = createUnreadableReport({ leftOut: metrics.documentsLeftOut, logger, nowMs });
  const openReader = createReaders({ budget, scanEntriesMax, requireCollections, onUnreadable, nowMs });
  return { budget, openReader, requireCollections };
}

type SourceDeps = Pick<ApiDeps, 'mongo' | 'authMongo'> & { control: Db; clock: StoreClock };

/** The collections first: a collection that is replaced before its indexes are read has another id after the next read. */
async function readStructures(database: Db, limits: ReadOptions) {
  const all = await readCollections(database, limits);
  const names = servedKinds.map((kind) => resources[kind].collection);
  const faults = await indexFaults(database, servedIndexes, limits);
  return { collections: new Map([...all].filter(([name]) => names.includes(name))), faults };
}

/** The sources of snapshots, in the databases of that name. */
function snapshotSources({ mongo, authMongo, control, clock }: SourceDeps, name: string) {
  const readsPrimary = mongo.readPreference.mode === 'primary';
  return {
    connect: () => Promise.all([mongo.connect(), authMongo.connect()]),
    activeGeneration: async (limits: ReadOptions) => {
      // No request reads data before the time is known.
      const reading = activeGeneration(control, limits);
      const [active] = await Promise.all([reading, clock.read()]);
      return active;
    },
    watermark: (generation: number, limits: ReadOptions) =>
      authMongo.withSession(async (session) => {
        // A clock that was wrong may have raised the watermark too far for good.
        // A copy of its own: the driver writes the session's time into the concern of a read that it repeats.
        const readConcern = new ReadConcern((control.readConcern?.level ?? 'local') as ReadConcernLevel);
        const options = { ...limits, projection: notAfterNow, session, readConcern };
        const completeTo = await watermark(control, generation, options);
        return { completeTo, readAfter: readsPrimary ? null : storeTimeOf(session) };
      }),
    structures: readStructures,
    databasesOf: (generation: number) => ({
      database: generationDatabase(mongo, name, generation, { readPreference: mongo.readPreference }),
      authDatabase: generationDatabase(authMongo, name, generation),
    }),
  };
}
