import { parseInstant, sortKey } from './instant.ts';

describe('parseInstant', () => {
  test.each([
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02t03:04:05.123456789z', '2026-01-02T03:04:05.123Z'],
    ['2026-01-02T03:04:05.9+02:30', '2026-01-02T00:34:05.900Z'],
    ['2024-02-29T00:00:00-01:00', '2024-02-29T01:00:00.000Z'],
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
    ['2016-12-31T23:59:60.9+00:00', '2017-01-01T00:00:00.000Z'],
    ['0000-02-29T00:00:00Z', '0000-02-29T00:00:00.000Z'],
    ['0099-12-31T23:59:59.12Z', '0099-12-31T23:59:59.120Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('parses %s as %s', (text, expected) => {
    expect(parseInstant(text)?.toISOString()).toBe(expected);
  });

  test.each([
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '2026-01-02T24:00:00Z',
    '2026-01-02T00:00:00',
    '2026-01-02',
    '2026-01-02T00:00Z',
    '0000-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    ' 2026-01-02T00:00:00Z',
    '',
  ])('returns null for %j', (text) => {
    expect(parseInstant(text)).toBeNull();
  });

  test('sort keys order by instant, then by id', () => {
    const early = new Date('2026-01-02T03:04:05.006Z');
    const late = new Date('2026-01-02T03:04:05.007Z');
    expect([sortKey(late, 'a'), sortKey(early, 'b'), sortKey(early, 'a')].sort()).toEqual([
      sortKey(early, 'a'),
      sortKey(early, 'b'),
      sortKey(late, 'a'),
    ]);
  });
});
