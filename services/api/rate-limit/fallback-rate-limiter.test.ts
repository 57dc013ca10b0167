import { pino } from 'pino';
import { createMetrics } from '../metrics.ts';
import { createFallbackRateLimiter } from './fallback-rate-limiter.ts';

const usage = { admitted: true, remaining: 1, resetMs: 0 };
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A limiter whose connections, requests and pauses the test controls. */
function given({ refuses }: { refuses: boolean }) {
  const levels: string[] = [];
  const pauses: { ms: number; end: () => void }[] = [];
  const store = { connections: 0, closed: 0, isAway: false, refuses, nowMs: 0 };
  const fallbacks = createMetrics().rateLimitFallbacks;
  const limiter = createFallbackRateLimiter({
    connect: async () => {
      if (store.isAway) throw new Error('ECONNREFUSED');
      store.connections += 1;
      return {
        consume: async () => {
          if (store.refuses) throw new Error('READONLY');
          return { ...usage, remaining: 7 };
        },
        close: () => void (store.closed += 1),
      };
    },
    memory: { consume: () => usage },
    fallbacks,
    logger: pino(
      { formatters: { level: (level) => ({ level }) } },
      { write: (line: string) => void levels.push((JSON.parse(line) as { level: string }).level) },
    ),
    nowMs: () => store.nowMs,
    pause: (ms) => new Promise<void>((resolve) => pauses.push({ ms, end: resolve })),
  });
  const consumeMany = () => Promise.all(Array.from({ length: 100 }, async () => limiter.consume('key')));
  const endPause = async () => {
    pauses.at(-1)?.end();
    await settled();
  };
  const fallbackCount = async () => (await fallbacks.get()).values[0]?.value;
  return { store, limiter, levels, pauses, consumeMany, endPause, fallbackCount };
}

describe('a store that accepts connections but refuses requests', () => {
  it('is asked once for each pause, however many requests arrive, and the pause grows to ten seconds', async () => {
    const { store, levels, pauses, consumeMany, endPause, fallbackCount } = given({ refuses: true });
    await settled();
    for (let connections = 1; connections <= 6; connections += 1) {
      await consumeMany();
      expect([store.connections, store.closed, pauses.length]).toEqual(Array(3).fill(connections));
      expect(await fallbackCount()).toBe(100 * connections);
      await endPause();
    }
    expect(pauses.map(({ ms }) => ms)).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    expect(levels.filter((level) => level === 'warn')).toHaveLength(6);
  });

  it('is used again after the pause once it accepts them; after a minute the next pause is short', async () => {
    const { store, limiter, pauses, consumeMany, endPause } = given({ refuses: true });
    await settled();
    await consumeMany();
    await endPause();
    await consumeMany();
    store.refuses = false;
    await endPause();
    expect(await limiter.consume('key')).toMatchObject({ remaining: 7 });
    store.nowMs += 60_000;
    store.refuses = true;
    await consumeMany();
    expect(pauses.map(({ ms }) => ms)).toEqual([1_000, 2_000, 1_000]);
  });

  it('gets no connection after the stop', async () => {
    const { store, limiter, consumeMany, endPause } = given({ refuses: true });
    await settled();
    await consumeMany();
    limiter.stop();
    await endPause();
    expect(store.connections).toBe(1);
  });
});

test('a store that is away is named in the log once, until it has answered', async () => {
  const { store, limiter, levels, endPause } = given({ refuses: false });
  // The first connection was made when the limiter was created.
  await settled();
  store.isAway = true;
  store.refuses = true;
  await limiter.consume('key');
  for (let attempt = 0; attempt < 3; attempt += 1) await endPause();
  store.isAway = false;
  await endPause();
  expect(levels).toEqual(['info', 'warn', 'info']);
});

test('a stop closes the connection, and one that is made meanwhile', async () => {
  const connected = given({ refuses: false });
  await settled();
  connected.limiter.stop();
  expect(connected.store.closed).toBe(1);
  const connecting = given({ refuses: false });
  connecting.limiter.stop();
  await settled();
  expect(connecting.store).toMatchObject({ connections: 1, closed: 1 });
});
