import assert from 'node:assert';
import { join } from 'node:path';
import { createClient } from '@redis/client';
import { freePorts } from '../../infra/dev-servers/native/ports.ts';
import { type Server, startServer } from '../../infra/dev-servers/native/server.ts';
import { installValkey, valkeyPart } from '../../infra/dev-servers/native/valkey.ts';
import { connectRedisRateLimiter } from '../../services/api/rate-limit/redis-rate-limiter.ts';
import { eventually } from '../support/eventually.ts';
import { type ApiProcess, useApiProcesses } from './api-processes.ts';
import { ask } from './requests.ts';

const say = (line: string) => process.stdout.write(`${line}\n`);
const lost = 'the rate limit store is unavailable: each replica counts for itself';
const back = 'rate limits are shared';

const children = useApiProcesses();
let port: number;
let tlsPort: number;
let valkey: Server;
const running: ApiProcess[] = [];

beforeAll(async () => {
  const words = await installValkey(say);
  [port = 0, tlsPort = 0] = await freePorts(2);
  const { API_TLS_CERT: cert = '', API_TLS_KEY: key = '' } = children.tls;
  const files = ['--tls-cert-file', cert, '--tls-key-file', key];
  const settings = ['--tls-port', String(tlsPort), ...files, '--tls-auth-clients', 'no'];
  valkey = await startServer([valkeyPart(words, join(children.folder, 'valkey'), port, settings)]);
});

afterEach(async () => {
  for (const child of running.splice(0)) expect(await child.stop()).toBe(0);
});

afterAll(() => valkey.stop());

const start = async (settings: Record<string, string> = {}) => {
  const child = await children.start({
    API_TRUSTED_PROXIES: '127.0.0.1',
    RATE_LIMIT_REQUESTS: '10',
    RATE_LIMIT_WINDOW_SECONDS: '3600',
    RATE_LIMIT_STORE_URL: `redis://127.0.0.1:${port}`,
    // However slow the machine is, no replica counts for itself.
    RATE_LIMIT_STORE_TIMEOUT_MS: '30000',
    ADMIN_PORT: '0',
    ...settings,
  });
  running.push(child);
  return child;
};
const get = (child: ApiProcess) => ask(child, '/v1/tickets');
const count = (child: ApiProcess, message: string) => child.log.filter(({ msg }) => msg === message).length;
const shared = (child: ApiProcess, times = 1) => eventually(async () => count(child, back) >= times);
const remaining = async (child: ApiProcess) => Number((await get(child)).headers['ratelimit-remaining']);

it('is one exact limit for all replicas, under concurrent requests and after their restart', async () => {
  const url = `redis://127.0.0.1:${port}/2`;
  const a = await start({ RATE_LIMIT_STORE_URL: url });
  const b = await start({
    RATE_LIMIT_STORE_URL: `rediss://localhost:${tlsPort}/2`,
    NODE_EXTRA_CA_CERTS: children.tls.API_TLS_CERT ?? '',
  });
  await Promise.all([shared(a), shared(b)]);
  await eventually(async () => (await get(a)).status !== 503);
  const used = 10 - (await remaining(a)) + 1;
  const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => get(index % 2 === 0 ? a : b)));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(10 - used + 1);
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused[0]?.headers['ratelimit-remaining']).toBe('0');
  expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThan(3_500);
  expect(Number(refused[0]?.headers['retry-after'])).toBeLessThanOrEqual(3_600);
  // and the store forgets a key that is not used any more
  const operator = await createClient({ url }).connect();
  const secondsLeft = await operator.ttl(`rate:${children.store.name}:key_a`);
  expect(secondsLeft).toBeGreaterThan(0);
  expect(secondsLeft).toBeLessThanOrEqual(3_600);
  await operator.close();
  const c = await start({ RATE_LIMIT_STORE_URL: url });
  await shared(c);
  await eventually(async () => (await get(c)).status === 429);
});

it('counts a key for each database, so that two deployments may share the store', async () => {
  const connect = (database: string) =>
    connectRedisRateLimiter(
      { url: `redis://127.0.0.1:${port}/4`, timeoutMs: 30_000, database },
      { requests: 1, windowSeconds: 3_600 },
      () => undefined,
    );
  const [support, staging] = [await connect('support'), await connect('staging')];
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
  for (const { consume } of [support, staging])
    for (const key of keys)
      expect([await consume(key), await consume(key)]).toMatchObject([
        { admitted: true },
        { admitted: false },
      ]);
  for (const { close } of [support, staging]) close();
});

it('counts a key by its own limit, also if that was raised or lowered during the window', async () => {
  const limiter = await connectRedisRateLimiter(
    { url: `redis://127.0.0.1:${port}/6`, timeoutMs: 30_000, database: 'support' },
    { requests: 0, windowSeconds: 3_600 },
    () => undefined,
  );
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

it('is a sliding window by the clock of the store', async () => {
  const url = `redis://127.0.0.1:${port}/3`;
  const child = await start({
    RATE_LIMIT_STORE_URL: url,
    RATE_LIMIT_REQUESTS: '2',
    RATE_LIMIT_WINDOW_SECONDS: '2',
  });
  await shared(child);
  const admitted: { askedMs: number; answeredMs: number }[] = [];
  await eventually(async () => {
    const askedMs = performance.now();
    if ((await get(child)).status === 200) admitted.push({ askedMs, answeredMs: performance.now() });
    return admitted.length === 6;
  });
  // A request is counted after it was asked and before it is answered, however slow this machine is.
  const apart = admitted
    .slice(2)
    .map(({ answeredMs }, index) => answeredMs - (admitted[index]?.askedMs ?? 0));
  // The clocks of the store and of this process may differ by a few milliseconds in two seconds.
  for (const ms of apart) expect(ms).toBeGreaterThan(1_990);
});

describe('a store with outages', () => {
  it('delays no request: each replica counts for itself meanwhile, and shares again afterwards', async () => {
    const url = `redis://127.0.0.1:${port}/5`;
    const child = await start({ RATE_LIMIT_STORE_URL: url });
    await shared(child);
    await eventually(async () => (await get(child)).status === 200);
    const times = count(child, back);
    await valkey.kill();
    expect([await remaining(child), await remaining(child)]).toEqual([9, 8]);
    await valkey.restart();
    await shared(child, times + 1);
    expect(await remaining(child)).toBe(9);
  });

  it('may be unavailable at the start', async () => {
    const [closed = 0] = await freePorts(1);
    const child = await start({ RATE_LIMIT_STORE_URL: `redis://:secretive@127.0.0.1:${closed}` });
    await eventually(async () => (await get(child)).status === 200);
    await eventually(async () => count(child, lost) === 1);
    expect(JSON.stringify(child.log)).not.toContain('secretive');
  });
});
