import fc from 'fast-check';
import { createMemoryRateLimiter } from './memory-rate-limiter.ts';

const given = (requests: number, windowSeconds: number) => {
  const clock = { nowMs: 5_000 };
  const rateLimiter = createMemoryRateLimiter({
    limit: { requests, windowSeconds },
    nowMs: () => clock.nowMs,
  });
  return { clock, consume: () => rateLimiter.consume('key'), rateLimiter };
};

describe('a sliding window', () => {
  it('admits none after a burst until the window has passed, then as many as the burst had', () => {
    const { clock, consume } = given(3, 60);
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

  it('never says that one has to wait longer than a window', () => {
    const { clock, consume } = given(1, 60);
    for (let request = 0; request < 1_000; request += 1) {
      clock.nowMs += 60_000.1;
      expect(consume()).toEqual({ admitted: true, remaining: 0, resetMs: 60_000 });
    }
  });

  it('gives requests back one by one, as they age out', () => {
    const { clock, consume } = given(2, 10);
    consume();
    clock.nowMs += 6_000;
    consume();
    clock.nowMs += 4_000;
    expect(consume()).toEqual({ admitted: true, remaining: 0, resetMs: 6_000 });
    expect(consume().admitted).toBe(false);
  });

  it('does not hold refused requests against a key', () => {
    const { clock, consume } = given(1, 10);
    consume();
    for (let second = 0; second < 9; second += 1) {
      clock.nowMs += 1_000;
      expect(consume().admitted).toBe(false);
    }
    clock.nowMs += 1_000;
    expect(consume().admitted).toBe(true);
  });

  it('counts each key for itself', () => {
    const { consume, rateLimiter } = given(1, 10);
    consume();
    expect(rateLimiter.consume('other').admitted).toBe(true);
  });

  it('never lets more than the limit into any stretch as long as the window', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.nat(4_000), { maxLength: 60 }),
        (limit, gaps) => {
          const { clock, consume } = given(limit, 10);
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
