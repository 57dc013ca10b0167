import { dayMs } from './instant.ts';
import { expiredUpTo, isExpired, isShown } from './visibility.ts';

const now = new Date('2026-01-31T12:00:00.500Z');

describe('data with a retention in days', () => {
  test.each([
    { name: 'expires exactly when the days have passed', days: 30, offsetMs: 0, isPast: true },
    { name: 'is retained until a millisecond before that', days: 30, offsetMs: 1, isPast: false },
    { name: 'expires when the days reach back before 1970', days: 30_000, offsetMs: 0, isPast: true },
    {
      name: 'is retained when the days reach back further than a Date can',
      days: 200_000_000,
      offsetMs: 0,
      isPast: false,
    },
    { name: 'never expires for 0 days', days: 0, offsetMs: -1_000 * dayMs, isPast: false },
    { name: 'never expires for null days', days: null, offsetMs: -1_000 * dayMs, isPast: false },
  ])('$name, by isExpired and expiredUpTo alike', ({ days, offsetMs, isPast }) => {
    const ms = Math.max(now.getTime() - (days ?? 0) * dayMs + offsetMs, -8_640_000_000_000_000);
    const channel = { dataRetentionDays: days };
    const conversation = { state: { updatedAt: new Date(ms) }, joined: { channel } };
    expect(isExpired(conversation, now)).toBe(isPast);
    expect(isShown(conversation, now)).toBe(!isPast);
    const bound = expiredUpTo(channel, now);
    expect(bound !== null && conversation.state.updatedAt <= bound).toBe(isPast);
  });

  test('is not shown while its channel is missing', () => {
    const state = { updatedAt: now };
    for (const joined of [undefined, {}, { channel: null }])
      expect(isShown({ state, joined }, now)).toBe(false);
  });
});
