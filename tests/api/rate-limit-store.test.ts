import assert from 'node:assert';
import { join } from 'node:path';
import { createClient } from '@redis/client';
import { freePort, freePorts } from '../../infra/dev-servers/native/ports.ts';
import { type Server, startServer } from '../../infra/dev-servers/native/server.ts';
import { installValkey, prepareValkey } from '../../infra/dev-servers/native/valkey.ts';
import { createMetrics } from '../../services/api/metrics.ts';
import { createRateLimiter } from '../../services/api/rate-limit/fallback-rate-limiter.ts';
import type { RateLimit } from '../../services/api/rate-limit/rate-limiter.ts';
import {
  connectRedisRateLimiter,
  type RateLimitStore,
} from '../../services/api/rate-limit/redis-rate-limiter.ts';
import type { Logger } from '../../shared/runtime/logger.ts';
import { eventually } from '../support/eventually.ts';
import { type ApiProcess, useApiProcesses } from './api-processes.ts';
import { ask } from './requests.ts';

const report = (line: string) => process.stdout.write(`${line}\n`);
const storeLostMessage = 'the rate limit store is unavailable: each replica counts for itself';

const apis = useApiProcesses();
let port: number;
let tlsPort: number;
let valkey: Server;
const running: ApiProcess[] = [];

beforeAll(async () => {
  const words = await installValkey(report);
  [port = 0, tlsPort = 0] = await freePorts(2);
  const { API_TLS_CERT: cert = '', API_TLS_KEY: key = '' } = apis.tls;
  const files = ['--tls-cert-file', cert, '--tls-key-file', key];
  const settings = ['--tls-port', String(tlsPort), ...files, '--tls-auth-clients', 'no'];
  valkey = await startServer([prepareValkey(words, join(apis.folder, 'valkey'), port, settings)]);
});

afterEach(async () => {
  for (const api of running.splice(0)) expect(await api.stop()).toBe(0);
});

afterAll(() => valkey.stop());

const start = async (settings: Record<string, string> = {}) => {
  const api = await apis.start({
    API_TRUSTED_PROXIES: '127.0.0.1',
    RATE_LIMIT_REQUESTS: '10',
    ADMIN_PORT: '0',
    ...settings,
  });
  running.push(api);
  return api;
};
const get = (api: ApiProcess) => ask(api, '/v1/tickets');
const count = (api: ApiProcess, message: string) => api.log.filter(({ msg }) => msg === message).length;

/** The counts of a deployment in a database of the store. The long timeout lets a slow machine answer in time. */
const storeOf = (number: number, database = 'support') => ({
  url: `redis://127.0.0.1:${port}/${number}`,
  timeoutMs: 30_000,
  database,
});
const connect = (store: RateLimitStore, limit: RateLimit) =>
  connectRedisRateLimiter(store, limit, () => undefined);

test('all replicas share one exact limit under concurrent requests', async () => {
  const store = storeOf(2);
  const limit = { requests: 10, windowSeconds: 3_600 };
  const a = await connect(store, limit);
  const b = await connect(store, limit);
  const usages = await Promise.all(
    Array.from({ length: 30 }, async (_, index) => {
      const replica = index % 2 === 0 ? a : b;
      return replica.consume('key_a');
    }),
  );
  expect(usages.filter(({ admitted }) => admitted)).toHaveLength(10);
  const refused = usages.find(({ admitted }) => !admitted);
  expect(refused?.remaining).toBe(0);
  expect(refused?.resetMs).toBeLessThanOrEqual(3_600_000);
  for (const replica of [a, b]) replica.close();
});

test('the store keeps the count of a key during a restart of the replica', async () => {
  const limit = { requests: 1, windowSeconds: 3_600 };
  const replica = await connect(storeOf(9), limit);
  await replica.consume('key_a');
  replica.close();
  const restarted = await connect(storeOf(9), limit);
  expect(await restarted.consume('key_a')).toMatchObject({ admitted: false });
  restarted.close();
});

test('the store forgets an unused key after its window', async () => {
  const store = storeOf(7);
  const limiter = await connect(store, { requests: 10, windowSeconds: 3_600 });
  await limiter.consume('key_a');
  limiter.close();
  const operator = await createClient({ url: store.url }).connect();
  const secondsLeft = await operator.ttl('rate:support:key_a');
  expect(secondsLeft).toBeGreaterThan(0);
  expect(secondsLeft).toBeLessThanOrEqual(3_600);
  await operator.close();
});

test('a replica counts its requests in the store over TLS', async () => {
  const api = await start({
    RATE_LIMIT_STORE_URL: `rediss://localhost:${tlsPort}/8`,
    NODE_EXTRA_CA_CERTS: apis.tls.API_TLS_CERT ?? '',
  });
  const operator = await createClient({ url: storeOf(8).url }).connect();
  const key = `rate:${apis.store.name}:key_a`;
  await eventually(async () => (await get(api)).status === 200 && (await operator.exists(key)) === 1);
  await operator.close();
});

test('two deployments with different databases can share the store', async () => {
  const limit = { requests: 1, windowSeconds: 3_600 };
  const support = await connect(storeOf(4), limit);
  const staging = await connect(storeOf(4, 'staging'), limit);
  const keys = [
    'key_a',
    'key_a:',
    'staging:key_a',
    'key a',
    'key_/@',
    '__proto__',
    'caf\u00e9',
    'cafe\u0301',
  ];
  for (const { consume } of [support, staging]) {
    for (const key of keys)
      expect([await consume(key), await consume(key)]).toMatchObject([
        { admitted: true },
        { admitted: false },
      ]);
  }
  for (const { close } of [support, staging]) close();
});

test('the store applies a limit of a key that changes during its window', async () => {
  const limiter = await connect(storeOf(6), { requests: 0, windowSeconds: 3_600 });
  const usages = [];
  for (const requests of [3, 3, 3, 3, 4, 1]) {
    const sentMs = performance.now();
    const usage = await limiter.consume('key_a', requests);
    usages.push({ ...usage, sentMs, answeredMs: performance.now() });
  }
  limiter.close();
  expect(usages.map(({ admitted, remaining }) => [admitted, remaining])).toEqual([
    [true, 2],
    [true, 1],
    [true, 0],
    [false, 0],
    [true, 0],
    [false, 0],
  ]);
  // The lowered limit admits one more once the last of the four has left, not the first.
  const [raised, lowered] = usages.slice(-2);
  assert(raised && lowered);
  // The store counts in whole milliseconds.
  expect(lowered.resetMs).toBeGreaterThanOrEqual(3_599_999 - (lowered.answeredMs - raised.sentMs));
});

test('the window slides with the clock of the store', async () => {
  const limiter = await connect(storeOf(3), { requests: 2, windowSeconds: 2 });
  const admitted: { askedMs: number; answeredMs: number }[] = [];
  await eventually(async () => {
    const askedMs = performance.now();
    const usage = await limiter.consume('key_a');
    if (usage.admitted) admitted.push({ askedMs, answeredMs: performance.now() });
    return admitted.length === 6;
  });
  limiter.close();
  // A request is counted after it was asked and before it is answered, however slow this machine is.
  const intervals = admitted
    .slice(2)
    .map(({ answeredMs }, index) => answeredMs - (admitted[index]?.askedMs ?? 0));
  // The clocks of the store and of this process may differ by a few milliseconds in two seconds.
  for (const ms of intervals) expect(ms).toBeGreaterThan(1_990);
});

describe('with outages of the store', () => {
  test('each replica counts alone during an outage and shares its counts again afterwards', async () => {
    const reports = { shared: 0 };
    const logger = {
      info: () => {
        reports.shared += 1;
      },
      warn: () => undefined,
    } as unknown as Logger;
    const deps = { nowMs: () => 0, logger, fallbacks: createMetrics().rateLimitFallbacks };
    const limit = { requests: 10, windowSeconds: 3_600 };
    const limiter = createRateLimiter(deps, { limit, store: storeOf(5) });
    const remaining = async () => (await limiter.consume('key_a')).remaining;
    await eventually(async () => reports.shared === 1);
    expect(await remaining()).toBe(9);
    await valkey.kill();
    expect([await remaining(), await remaining()]).toEqual([9, 8]);
    await valkey.restart();
    await eventually(async () => reports.shared === 2);
    expect(await remaining()).toBe(9);
    limiter.stop();
  });

  test('the API starts although the store is unavailable', async () => {
    const closed = await freePort();
    const api = await start({ RATE_LIMIT_STORE_URL: `redis://:secretive@127.0.0.1:${closed}` });
    await eventually(async () => (await get(api)).status === 200);
    await eventually(async () => count(api, storeLostMessage) === 1);
    expect(JSON.stringify(api.log)).not.toContain('secretive');
  });
});
