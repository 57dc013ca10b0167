import { randomBytes } from 'node:crypto';
import { activeGeneration, ensureActiveGeneration, watermark } from '../../shared/store/generations.ts';
import { ensureIndexes, missingIndexes } from '../../shared/store/indexes.ts';
import { createLogger } from '../../shared/runtime/logger.ts';
import { controlDatabase, createMongo, generationDatabase } from '../../shared/store/connection.ts';
import { createApp } from '../../services/api/app.ts';
import { createApiKeyCache } from '../../services/api/auth/api-key-cache.ts';
import { createAuthFailureLimiter } from '../../services/api/auth/auth-failure-limiter.ts';
import { createMetrics } from '../../services/api/metrics.ts';
import type { AddressRange } from '../../services/api/http/proxy.ts';
import { startServer } from '../../services/api/server/server.ts';
import type { Credentials } from '../../services/api/server/tls.ts';
import { createSpec } from '../../services/api/openapi/spec.ts';
import { createMemoryRateLimiter } from '../../services/api/rate-limit/memory-rate-limiter.ts';
import type { RateLimit } from '../../services/api/rate-limit/rate-limiter.ts';
import { createRegistry } from '../../services/api/resources/registry.ts';
import { readOptions, serverTimeoutMs } from '../../services/api/store/deadline.ts';
import { createReaders } from '../../services/api/store/reader.ts';
import { createReadSnapshots } from '../../services/api/store/read-snapshot.ts';
import { startTracing } from '../../services/api/traces/start.ts';
import { documented, type HoldToDocument } from '../support/documented.ts';
import ipaddr from 'ipaddr.js';
import { apiKey, store } from './builders.ts';

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

/** Databases of one test file, with generation 1 active and indexed. `close` drops them. */
export async function startStore() {
  const client = createMongo(mongoUrl(), 'api-tests');
  const name = `api_test_${randomBytes(6).toString('hex')}`;
  const control = controlDatabase(client, name);
  const database = generationDatabase(client, name, 1);
  await ensureActiveGeneration(control);
  await ensureIndexes(database);
  await store(database, 'apiKey', [
    apiKey(tokens.a, { id: 'key_a' }),
    apiKey(tokens.b, { id: 'key_b' }, { orgId: 'org_b' }),
    apiKey(tokens.archived, { id: 'key_c', archivedAt: '2026-01-01T00:00:00Z' }),
  ]);
  const close = async () => {
    for (const each of [control, database]) await each.dropDatabase();
    await client.close();
  };
  return { client, name, control, database, close };
}

export type TestStore = Awaited<ReturnType<typeof startStore>>;

type Options = {
  limit?: RateLimit;
  failureLimit?: RateLimit;
  nowMs?: () => number;
  credentials?: Credentials | null;
  trustedProxies?: AddressRange[];
  now?: () => Date;
  scanEntriesMax?: number;
  /** Stores request traces, as `startTracing` does. */
  traced?: boolean;
  keylessTracesMax?: number;
};

const loopback: AddressRange[] = [ipaddr.parseCIDR('127.0.0.0/8')];

/** Readers with the API's default limits. */
export const testReaders = (scanEntriesMax = 20_000) =>
  createReaders({
    bytesMax: 128 * 1_024 * 1_024,
    connectionsMax: 20,
    scanEntriesMax,
    nowMs: () => performance.now(),
  });

/** The API in this process, on a free port, behind a trusted proxy. */
export async function startApi(
  { client, name, control }: Pick<TestStore, 'client' | 'name' | 'control'>,
  options: Options = {},
) {
  const logger = createLogger('api', 'silent');
  const nowMs = options.nowMs ?? (() => performance.now());
  const limit = options.limit ?? { requests: 0, windowSeconds: 60 };
  const docs = { docsUrl: undefined, baseUrl: undefined };
  const snapshots = createReadSnapshots({
    connect: () => client.connect(),
    activeGeneration: () => activeGeneration(control, readOptions()),
    watermark: (generation) => watermark(control, generation, readOptions()),
    missingIndexes: (database) => missingIndexes(database, { maxTimeMS: serverTimeoutMs }),
    databasesOf: (generation) => {
      const database = generationDatabase(client, name, generation);
      return { database, authDatabase: database };
    },
    logger,
    nowMs,
  });
  const routes = createRegistry({ now: options.now ?? (() => new Date()), brand: 'svc' });
  const metrics = createMetrics();
  const tracing = options.traced
    ? startTracing(
        { control, routes, metrics, logger, nowMs },
        { keptDays: 90, keylessMax: options.keylessTracesMax ?? 1_000 },
      )
    : null;
  const trace = tracing?.trace ?? null;
  const document = createSpec({ docs, brand: 'svc', limit }, routes);
  const app = createApp({
    routes,
    document,
    snapshots,
    apiKeys: createApiKeyCache({ nowMs }),
    authFailures: createAuthFailureLimiter({
      limit: options.failureLimit ?? { requests: 0, windowSeconds: 60 },
      nowMs,
    }),
    limit,
    requestsMax: 500,
    openReader: testReaders(options.scanEntriesMax),
    rateLimiter: createMemoryRateLimiter({ limit, nowMs }),
    docs,
    trustedProxies: options.trustedProxies ?? loopback,
    brand: 'svc',
    metrics,
    trace,
    logger,
  });
  const web = await startServer(
    { listener: app.callback(), logger, docs, trace, ...metrics },
    {
      ...{ host: '127.0.0.1', port: 0, credentials: options.credentials ?? null },
      ...{ connectionsMax: 5_000, addressConnectionsMax: 500 },
      trustedProxies: options.trustedProxies ?? loopback,
    },
  );
  const url = `http://127.0.0.1:${web.address.port}`;
  const close = async () => {
    await web.stop();
    await tracing?.stop();
  };
  const get = requester(url, documented(document));
  return { url, port: web.address.port, routes, snapshots, metrics, close, get };
}

export type TestApi = Awaited<ReturnType<typeof startApi>>;

export type Get = ReturnType<typeof requester>;

/**
 * Sends requests as a proxy does, by default with organization a's key; null sends no key. Every answer must match
 * the OpenAPI document.
 */
const requester =
  (url: string, holdToDocument: HoldToDocument) =>
  async (
    path: string,
    {
      token = tokens.a,
      method = 'GET',
      headers = {},
    }: { token?: string | null; method?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer> => {
    const response = await fetch(url + path, {
      method,
      redirect: 'manual',
      headers: {
        'X-Forwarded-Proto': 'https',
        ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
        ...headers,
      },
    });
    const text = await response.text();
    const { status, headers: received } = response;
    holdToDocument({ method, path, status, headers: received, text });
    return {
      status,
      headers: received,
      text,
      json: () => JSON.parse(text) as unknown,
    };
  };

type ErrorBody = { error: { type: string; code: string; param?: string; docUrl: string; requestId: string } };
export const errorOf = (answer: Answer) => (answer.json() as ErrorBody).error;

type ListBody = { data: { id: string }[]; hasMore: boolean; nextCursor: string | null };
export const listOf = (answer: Answer) => answer.json() as ListBody;

/** The ids of every page of a list, in order. Each page but the last must be full and have a cursor. */
export async function readAllPages(get: Get, path: string, limit: number): Promise<string[]> {
  const ids: string[] = [];
  const separator = path.includes('?') ? '&' : '?';
  let cursor: string | null = null;
  do {
    const after: string = cursor === null ? '' : `&startingAfter=${cursor}`;
    const answer = await get(`${path}${separator}limit=${limit}${after}`);
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
