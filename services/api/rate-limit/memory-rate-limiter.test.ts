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
  it('admits no request after a burst until the window has passed, then as many as in the burst', () => {
    const { clock, consume } = createLimiter(3, 60);
    expect([consume(), consume(), consume()].map(({ admitted, remaining }) => [admitted, remaining])).toEqual(
      [
        [true, 2],
        [true, 1],
        [true, 0],
      ],
    );
    clock.nowMs += 59_999;
    expect(consume()).toEqual({ admitted: false, remaining: 0, resetMs: 1 });
    clock.nowMs += 1;
    expect([consume(), consume(), consume(), consume()].map(({ admitted }) => admitted)).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  it('never reports a wait longer than the window', () => {
    const { clock, consume } = createLimiter(1, 60);
    for (let request = 0; request < 1_000; request += 1) {
      clock.nowMs += 60_000.1;
      expect(consume()).toEqual({ admitted: true, remaining: 0, resetMs: 60_000 });
    }
  });

  it('frees requests one by one as they leave the window', () => {
    const { clock, consume } = createLimiter(2, 10);
    consume();
    clock.nowMs += 6_000;
    consume();
    clock.nowMs += 4_000;
    expect(consume()).toEqual({ admitted: true, remaining: 0, resetMs: 6_000 });
    expect(consume().admitted).toBe(false);
  });

  it('frees the memory of windows that have passed', () => {
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

  it('never admits more than the limit in any period as long as the window', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.nat(4_000), { maxLength: 60 }),
        (limit, gaps) => {
          const { clock, consume } = createLimiter(limit, 10);
          const admitted = gaps.flatMap((gap) => {
            clock.nowMs += gap;
            return consume().admitted ? [clock.nowMs] : [];
          });
          for (const start of admitted) {
            const within = admitted.filter((instant) => instant >= start && instant < start + 10_000);
            expect(within.length).toBeLessThanOrEqual(limit);
          }
        },
      ),
    );
  });
});
