import { randomBytes } from 'node:crypto';
import { type CommandStartedEvent, type Db, MongoClient } from 'mongodb';
import { createSelfSigned } from '../../infra/certificate.ts';
import { startApi as startService } from '../../services/api/api.ts';
import { type Bounds, defaultBounds } from '../../services/api/bounds.ts';
import { type ApiConfig, readApiConfig } from '../../services/api/config.ts';
import { createMetrics } from '../../services/api/metrics.ts';
import { specSettings } from '../../services/api/openapi/info.ts';
import { createSpec } from '../../services/api/openapi/spec.ts';
import { createRoutes } from '../../services/api/resources/routes.ts';
import type { RequireCollections } from '../../services/api/store/collection-check.ts';
import { createReadBudget } from '../../services/api/store/read-budget.ts';
import type { DataSnapshot } from '../../services/api/store/read-snapshot.ts';
import { createReaders } from '../../services/api/store/reader.ts';
import { ensureRegistry } from '../../shared/control/generations.ts';
import { createLogger, type Logger } from '../../shared/runtime/logger.ts';
import { controlDatabase, createMongo, generationDatabase } from '../../shared/store/connection.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import { type AssertDocumented, createAssertDocumented } from '../support/documented.ts';
import { monitorCommands } from '../support/monitor-commands.ts';
import { apiKey, dataAsOf, type Documents, fill } from './builders.ts';
import { commandFaults } from './command-faults.ts';

/** Tokens of the keys in every test store: two organizations, one archived key. */
export const tokens = {
  a: 'svc_live_aaaaaaaaaaaaaaaa',
  b: 'svc_test_bbbbbbbbbbbbbbbb',
  archived: 'svc_live_cccccccccccccccc',
};

export type Answer = { status: number; headers: Headers; text: string; json: () => unknown };

export function mongoUrl(): string {
  const url = process.env.MONGODB_URL;
  if (!url) throw new Error('MONGODB_URL is not set: run these tests through `npm test`');
  return url;
}

/**
 * The databases of one test file, with generation 1 active, loaded and indexed; `close` drops them. `client` is for the
 * API; the databases have another client, whose commands need not name an organization.
 */
export async function startStore(documents: Documents = {}, url = mongoUrl()) {
  const client = createMongo(url, 'api-tests');
  const testsClient = new MongoClient(url, { ignoreUndefined: true });
  const name = `api_test_${randomBytes(6).toString('hex')}`;
  const control = controlDatabase(testsClient, name);
  const database = generationDatabase(testsClient, name, 1);
  await ensureRegistry(control);
  await dataAsOf(control, new Date('2026-01-01T00:00:00Z'));
  await ensureIndexes(database);
  const keys = [
    apiKey(tokens.a, { id: 'key_a' }),
    apiKey(tokens.b, { id: 'key_b' }, { orgId: 'org_b' }),
    apiKey(tokens.archived, { id: 'key_c', archivedAt: '2026-01-01T00:00:00Z' }),
  ];
  await fill(database, { ...documents, apiKey: [...keys, ...(documents.apiKey ?? [])] });
  const close = async () => {
    for (const testDatabase of [control, database]) await testDatabase.dropDatabase();
    await Promise.all([client.close(), testsClient.close()]);
  };
  return { client, name, control, database, close };
}

export type TestStore = Awaited<ReturnType<typeof startStore>>;

type Options = {
  settings?: Partial<ApiConfig>;
  bounds?: Partial<Bounds>;
  nowMs?: () => number;
  now?: () => Date;
  logger?: Logger;
  /** Whether the API serves TLS, with a self-signed certificate. */
  hasTls?: boolean;
};

/** A snapshot of a generation's database for the reader factory, read from the primary. */
export const snapshotOf = (database: Db, generation = 1): DataSnapshot => ({
  database,
  authDatabase: database,
  generation,
  readAfter: null,
  collections: new Map(),
});

/** The reader factory with the default limits of the API. */
export const testReaders = (requireCollections: RequireCollections = async () => undefined) =>
  createReaders({
    budget: createReadBudget({ bytesMax: 128 * 1_024 * 1_024, connectionsMax: 20 }),
    scanEntriesMax: defaultBounds.scanEntriesMax,
    requireCollections,
    onUnreadable: () => undefined,
    nowMs: () => performance.now(),
  });

/** The default configuration on a free port behind a trusted proxy, without limits and traces. */
function testConfig(name: string): ApiConfig {
  const result = readApiConfig({
    MONGODB_URL: mongoUrl(),
    DATABASE_NAME: name,
    API_HOST: '127.0.0.1',
    API_PORT: '0',
    API_TRUSTED_PROXIES: '127.0.0.0/8',
    RATE_LIMIT_REQUESTS: '0',
    REQUEST_TRACE_DAYS: '0',
  });
  if ('errors' in result) throw new Error(result.errors.join('\n'));
  return result.config;
}

/**
 * The API in this process, with the same client for data and for keys unless a test has two. Its requests come from a
 * trusted proxy.
 */
export async function startApi(
  { client, authClient = client, name }: Pick<TestStore, 'client' | 'name'> & { authClient?: MongoClient },
  options: Options = {},
) {
  const metrics = createMetrics();
  const config = { ...testConfig(name), ...options.settings };
  const { address, closers } = await startService({
    config,
    mongo: client,
    authMongo: authClient,
    credentials: options.hasTls ? await createSelfSigned() : null,
    metrics,
    logger: options.logger ?? createLogger('api', 'silent'),
    ...(options.now && { now: options.now }),
    nowMs: options.nowMs ?? (() => performance.now()),
    // Most tests send all requests from one address, whose limit they must not reach.
    bounds: { ...defaultBounds, authFailuresMax: 1_000_000, ...options.bounds },
  });
  const url = `http://127.0.0.1:${address.port}`;
  const close = async () => {
    for (const closer of closers) await closer.close();
  };
  const routes = createRoutes({ now: () => new Date(), brand: config.BRAND });
  const get = requester(url, createAssertDocumented(createSpec(specSettings(config), routes)));
  return { url, port: address.port, metrics, close, get };
}

export type TestApi = Awaited<ReturnType<typeof startApi>>;

/** A client of the store, the commands that it has sent, and their faults. */
function monitoredMongo() {
  const client = monitorCommands(createMongo(mongoUrl(), 'api-tests'));
  const commands: CommandStartedEvent[] = [];
  const faults = new Set<string>();
  client.on('commandStarted', (event) => {
    commands.push(event);
    for (const fault of commandFaults(event)) faults.add(fault);
  });
  return { client, commands, faults };
}

/**
 * The API on a store of its own for the tests of one file. Its fields exist once the first test begins. The tests fail
 * if the API sends a command with a fault.
 */
export function useApi(documents: Documents = {}, options: Options = {}) {
  const api = {} as TestApi & { store: TestStore } & ReturnType<typeof monitoredMongo>;
  beforeAll(async () => {
    const store = await startStore(documents);
    const mongo = monitoredMongo();
    Object.assign(api, await startApi({ ...store, ...mongo }, options), mongo, { store });
  });
  afterAll(async () => {
    await api.close();
    await api.client.close();
    await api.store.close();
    expect([...api.faults]).toEqual([]);
  });
  return api;
}

export type RequestOptions = {
  /** By default organization a's key; `null` sends no key. */
  token?: string | null;
  method?: string;
  headers?: Record<string, string>;
};

type Get = (path: string, options?: RequestOptions) => Promise<Answer>;

/** Sends requests through the trusted proxy. Every response is validated against the OpenAPI document. */
const requester =
  (url: string, assertDocumented: AssertDocumented): Get =>
  async (path, { token = tokens.a, method = 'GET', headers = {} } = {}) => {
    const authorization: Record<string, string> = token === null ? {} : { Authorization: `Bearer ${token}` };
    const sent = { 'X-Forwarded-Proto': 'https', ...authorization, ...headers };
    const response = await fetch(url + path, { method, redirect: 'manual', headers: sent });
    const text = await response.text();
    const { status, headers: received } = response;
    assertDocumented({ method, path, status, headers: received, text });
    return { status, headers: received, text, json: () => JSON.parse(text) as unknown };
  };

type ErrorBody = {
  error: { type: string; code: string; message: string; param?: string; docUrl: string; requestId: string };
};
export const errorOf = (answer: Answer) => (answer.json() as ErrorBody).error;

type ListBody = { data: { id: string }[]; hasMore: boolean; nextCursor: string | null };
export const listOf = (answer: Answer) => answer.json() as ListBody;

/** The ids of all pages of a list, in order. Every page except the last must be full and have `hasMore`. */
export async function readAllPages(get: Get, path: string, limit: number): Promise<string[]> {
  const ids: string[] = [];
  const separator = path.includes('?') ? '&' : '?';
  let cursor: string | null = null;
  do {
    const after = cursor === null ? '' : `&startingAfter=${cursor}`;
    const answer: Answer = await get(`${path}${separator}limit=${limit}${after}`);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`);
    const { data, hasMore, nextCursor } = listOf(answer);
    if (hasMore !== (nextCursor !== null)) throw new Error(`hasMore is ${hasMore} beside ${nextCursor}`);
    if (hasMore && data.length !== limit) throw new Error(`${data.length} items before the last page`);
    if (data.length === 0 && cursor !== null) throw new Error('nothing follows a page that says hasMore');
    ids.push(...data.map(({ id }) => id));
    cursor = nextCursor;
  } while (cursor !== null);
  return ids;
}
