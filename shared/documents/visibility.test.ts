import { dayMs } from './instant.ts';
import { expiredUpTo, isExpired, isShown } from './visibility.ts';

const now = new Date('2026-01-31T12:00:00.500Z');

describe('data with a retention in days', () => {
  it.each([
    ['expires exactly when the days have passed', 30, 0, true],
    ['is retained until a millisecond before that', 30, 1, false],
    ['expires when the days reach back before 1970', 30_000, 0, true],
    ['is retained when the days reach back further than a Date can', 200_000_000, 0, false],
    ['never expires for 0 days', 0, -1_000 * dayMs, false],
    ['never expires for null days', null, -1_000 * dayMs, false],
  ])('%s, by isExpired and expiredUpTo alike', (_, days, offsetMs, isPast) => {
    const ms = Math.max(now.getTime() - (days ?? 0) * dayMs + offsetMs, -8_640_000_000_000_000);
    const channel = { dataRetentionDays: days };
    const conversation = { state: { updatedAt: new Date(ms) }, joined: { channel } };
    expect(isExpired(conversation, now)).toBe(isPast);
    expect(isShown(conversation, now)).toBe(!isPast);
    const bound = expiredUpTo(channel, now);
    expect(bound !== null && conversation.state.updatedAt <= bound).toBe(isPast);
  });

  it('is not shown while its channel is missing', () => {
    const state = { updatedAt: now };
    for (const joined of [undefined, {}, { channel: null }])
      expect(isShown({ state, joined }, now)).toBe(false);
  });
});
