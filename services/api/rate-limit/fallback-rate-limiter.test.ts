import { pino } from 'pino';
import { createMetrics } from '../metrics.ts';
import { createFallbackRateLimiter } from './fallback-rate-limiter.ts';

const usage = { admitted: true, remaining: 1, resetMs: 0 };
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A limiter whose connections, requests and pauses the test controls. */
function given({ refuses }: { refuses: boolean }) {
  const levels: string[] = [];
  const pauses: { ms: number; end: () => void }[] = [];
  const store = { connections: 0, refuses, nowMs: 0 };
  const limiter = createFallbackRateLimiter({
    connect: async () => {
      store.connections += 1;
      return {
        consume: async () => {
          if (store.refuses) throw new Error('READONLY');
          return { ...usage, remaining: 7 };
        },
        close: () => undefined,
      };
    },
    memory: { consume: () => usage },
    fallbacks: createMetrics().rateLimitFallbacks,
    logger: pino(
      { formatters: { level: (level) => ({ level }) } },
      { write: (line: string) => void levels.push((JSON.parse(line) as { level: string }).level) },
    ),
    nowMs: () => store.nowMs,
    pause: (ms) => new Promise<void>((resolve) => pauses.push({ ms, end: resolve })),
  });
  const consumeMany = async () => {
    for (let request = 0; request < 100; request += 1) await limiter.consume('key');
  };
  const endPause = async () => {
    pauses.at(-1)?.end();
    await settled();
  };
  return { store, limiter, levels, pauses, consumeMany, endPause };
}

describe('a store that accepts connections but refuses requests', () => {
  it('is asked once for each pause, however many requests arrive, and the pause grows to ten seconds', async () => {
    const { store, levels, pauses, consumeMany, endPause } = given({ refuses: true });
    await settled();
    for (let connections = 1; connections <= 6; connections += 1) {
      await consumeMany();
      expect([store.connections, pauses.length]).toEqual([connections, connections]);
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
