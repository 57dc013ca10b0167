import { dayMs, expiredUpTo, isExpired, retainUntil } from './retention.ts';

const now = new Date('2026-01-31T12:00:00.500Z');

describe('what was retained for so many days', () => {
  it.each([
    ['expires at the instant at which they have passed', 30, 0, true],
    ['is retained a millisecond before', 30, 1, false],
    ['expires where they reach back before 1970', 30_000, 0, true],
    ['is retained where they reach back further than dates do', 200_000_000, 0, false],
    ['is kept indefinitely for none', 0, -1_000 * dayMs, false],
    ['is kept indefinitely for null', null, -1_000 * dayMs, false],
  ])('%s, one item and a range of them alike', (_, days, offsetMs, isPast) => {
    const ms = Math.max(now.getTime() - (days ?? 0) * dayMs + offsetMs, -8_640_000_000_000_000);
    const from = new Date(ms);
    const bound = expiredUpTo(days, now);
    expect(isExpired(retainUntil(from, days), now)).toBe(isPast);
    expect(bound !== null && from <= bound).toBe(isPast);
  });
});
