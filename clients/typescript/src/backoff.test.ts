import { delayAfter, retryAfterMs } from './backoff.ts';

describe('delayAfter', () => {
  test('is a random time up to a limit that doubles from 0.5 s to 30 s', () => {
    const bounds = [1, 2, 3, 4, 5, 6, 7, 8].map((attempt) => delayAfter(attempt, null, () => 1));
    expect(bounds).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    expect(delayAfter(5, null, () => 0)).toBe(0);
    expect(delayAfter(3, null, () => 0.25)).toBe(500);
  });

  test('is at least Retry-After, and at most 0.5 s more', () => {
    expect(delayAfter(1, 42_000, () => 0)).toBe(42_000);
    expect(delayAfter(9, 42_000, () => 1)).toBe(42_500);
  });
});

describe('retryAfterMs', () => {
  const at = Date.parse('2026-01-31T12:00:00Z');
  const read = (headers: Record<string, string>) => retryAfterMs(new Headers(headers), at);

  test.each<[string, Record<string, string>, number | null]>([
    ['seconds', { 'Retry-After': '7' }, 7_000],
    ['none', { 'Retry-After': '0' }, 0],
    ['a date', { 'Retry-After': 'Sat, 31 Jan 2026 12:00:09 GMT' }, 9_000],
    ['a date that has passed', { 'Retry-After': 'Sat, 31 Jan 2026 11:00:00 GMT' }, 0],
    [
      'a date compared with the Date of the response',
      { 'Retry-After': 'Sat, 31 Jan 2026 10:00:09 GMT', Date: 'Sat, 31 Jan 2026 10:00:00 GMT' },
      9_000,
    ],
    ['absent', {}, null],
    ['two values', { 'Retry-After': '7, 9' }, 7_000],
    ['a fraction', { 'Retry-After': '1.5' }, 1_500],
    ['nonsense with a number', { 'Retry-After': 'in 7' }, null],
    ['a negative number', { 'Retry-After': '-7' }, null],
    ['nonsense', { 'Retry-After': 'soon' }, null],
    ['a sign without a number', { 'Retry-After': '-' }, null],
  ])('%s', (_, headers, expected) => {
    expect(read(headers)).toBe(expected);
  });
});
