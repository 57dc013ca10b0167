import { pino } from 'pino';
import { createMetrics } from '../metrics.ts';
import { createFallbackRateLimiter } from './fallback-rate-limiter.ts';

const usage = { admitted: true, remaining: 1, resetMs: 0 };
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A limiter whose connections, requests and pauses the test controls. */
function createControlledLimiter({ refuses }: { refuses: boolean }) {
  const levels: string[] = [];
  const store = { connections: 0, closed: 0, isAway: false, refuses, until: Promise.resolve() };
  const fallbacks = createMetrics().rateLimitFallbacks;
  const limiter = createFallbackRateLimiter({
    connect: async () => {
      if (store.isAway) throw new Error('ECONNREFUSED');
      store.connections += 1;
      return {
        consume: async () => {
          await store.until;
          if (store.refuses) throw new Error('READONLY');
          return { ...usage, remaining: 7 };
        },
        close: () => {
          store.closed += 1;
        },
      };
    },
    memory: { consume: () => usage },
    fallbacks,
    logger: pino(
      { formatters: { level: (level) => ({ level }) } },
      { write: (line: string) => void levels.push((JSON.parse(line) as { level: string }).level) },
    ),
  });
  const consumeMany = () => Promise.all(Array.from({ length: 100 }, () => limiter.consume('key')));
  const fallbackCount = async () => (await fallbacks.get()).values[0]?.value;
  return { store, limiter, levels, consumeMany, fallbackCount };
}

beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate'] }));
afterEach(() => jest.useRealTimers());
const endPause = () => jest.advanceTimersByTimeAsync(5_000);

test('a store that refuses requests gets one connection in each pause, despite many requests', async () => {
  const { store, limiter, levels, consumeMany, fallbackCount } = createControlledLimiter({ refuses: true });
  await settled();
  for (let connections = 1; connections <= 6; connections += 1) {
    await consumeMany();
    expect({ connections: store.connections, closed: store.closed }).toEqual({
      connections,
      closed: connections,
    });
    expect(await fallbackCount()).toBe(100 * connections);
    await endPause();
  }
  expect(levels.filter((level) => level === 'warn')).toHaveLength(6);
  store.refuses = false;
  expect(await limiter.consume('key')).toMatchObject({ remaining: 7 });
  limiter.stop();
});

test('a request that fails late leaves a newer connection open', async () => {
  const { store, limiter } = createControlledLimiter({ refuses: true });
  await settled();
  const late = Promise.withResolvers<void>();
  store.until = late.promise;
  const waiting = limiter.consume('key');
  store.until = Promise.resolve();
  await limiter.consume('key');
  await endPause();
  late.resolve();
  await waiting;
  expect({ connections: store.connections, closed: store.closed }).toEqual({ connections: 2, closed: 1 });
  limiter.stop();
});

test('the log has one line for an outage of the store', async () => {
  const { store, limiter, levels } = createControlledLimiter({ refuses: false });
  // The first connection was made when the limiter was created.
  await settled();
  store.isAway = true;
  store.refuses = true;
  await limiter.consume('key');
  for (let attempt = 0; attempt < 3; attempt += 1) await endPause();
  store.isAway = false;
  await endPause();
  expect(levels).toEqual(['info', 'warn', 'info']);
  limiter.stop();
});

test('a stop closes the connection and one in progress, and no connection follows', async () => {
  const connected = createControlledLimiter({ refuses: false });
  await settled();
  connected.limiter.stop();
  await endPause();
  expect({ connections: connected.store.connections, closed: connected.store.closed }).toEqual({
    connections: 1,
    closed: 1,
  });
  const connecting = createControlledLimiter({ refuses: false });
  connecting.limiter.stop();
  await settled();
  expect(connecting.store.connections).toBe(1);
  expect(connecting.store.closed).toBeGreaterThan(0);
});
