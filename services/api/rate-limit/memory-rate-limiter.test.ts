import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { createMemoryRateLimiter } from './memory-rate-limiter.ts';

const createLimiter = (requests: number, windowSeconds: number) => {
  const clock = { nowMs: 5_000 };
  const rateLimiter = createMemoryRateLimiter({
    limit: { requests, windowSeconds },
    nowMs: () => clock.nowMs,
  });
  return { clock, consume: () => rateLimiter.consume('key'), rateLimiter };
};

describe('a sliding window', () => {
  test('never reports a wait longer than the window', () => {
    const { clock, consume } = createLimiter(1, 60);
    for (let request = 0; request < 1_000; request += 1) {
      clock.nowMs += 60_000.1;
      expect(consume()).toEqual({ admitted: true, remaining: 0, resetMs: 60_000 });
    }
  });

  test('frees the memory of windows that have passed', () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const heldBytes = () => {
      collect();
      return process.memoryUsage().heapUsed;
    };
    const { clock, rateLimiter } = createLimiter(2_000, 10);
    const startBytes = heldBytes();
    for (let request = 0; request < 600_000; request += 1) rateLimiter.consume(`key ${request % 300}`);
    const fullBytes = heldBytes() - startBytes;
    clock.nowMs += 10_001;
    rateLimiter.consume('key 0');
    expect(heldBytes() - startBytes).toBeLessThan(fullBytes / 2);
  });

  test('forgets the least recently used tenth of more than 50,000 keys', () => {
    const { rateLimiter } = createLimiter(1, 60);
    const isAdmitted = (key: number) => rateLimiter.consume(`key ${key}`).admitted;
    for (let key = 0; key < 50_000; key += 1) isAdmitted(key);
    expect([0, 50_000].map(isAdmitted)).toEqual([false, true]);
    expect([0, 1, 5_001, 5_002].map(isAdmitted)).toEqual([false, true, true, false]);
  });

  test('applies the limit of each request, which may change during the window', () => {
    const { clock, rateLimiter } = createLimiter(2, 10);
    const consume = (requests: number) => rateLimiter.consume('key', requests);
    for (const remaining of [3, 2, 1, 0]) {
      expect(consume(4)).toEqual({ admitted: true, remaining, resetMs: 10_000 - (3 - remaining) * 1_000 });
      clock.nowMs += 1_000;
    }
    expect(consume(4)).toEqual({ admitted: false, remaining: 0, resetMs: 6_000 });
    expect(consume(5)).toEqual({ admitted: true, remaining: 0, resetMs: 6_000 });
    // Of the five, at 0, 1, 2, 3 and 4 seconds, four must leave before one more is admitted.
    expect(consume(2)).toEqual({ admitted: false, remaining: 0, resetMs: 9_000 });
    clock.nowMs += 9_000;
    expect(consume(2)).toEqual({ admitted: true, remaining: 0, resetMs: 1_000 });
  });

  test('admits a request if it is within the limit of the last window', () => {
    const gaps = fc.array(fc.constantFrom(0, 1, 2_499, 2_500, 5_000, 9_999, 10_000), { maxLength: 60 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), gaps, (limit, gapsMs) => {
        const { clock, consume, rateLimiter } = createLimiter(limit, 10);
        let inside: number[] = [];
        for (const gapMs of gapsMs) {
          clock.nowMs += gapMs;
          // Requests that have left the window are freed by the next one, whichever key it has.
          rateLimiter.consume('another key');
          inside = inside.filter((instant) => clock.nowMs - instant < 10_000);
          const admitted = inside.length < limit;
          if (admitted) inside.push(clock.nowMs);
          const [oldest = 0] = inside;
          const resetMs = oldest + 10_000 - clock.nowMs;
          expect(consume()).toEqual({ admitted, remaining: limit - inside.length, resetMs });
        }
      }),
    );
  });
});
