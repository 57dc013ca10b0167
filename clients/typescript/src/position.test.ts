import { readPosition, writePosition } from './position.ts';

const nextChangedFrom = new Date('2026-01-31T12:41:03.218Z');

test('a completed export is stored as the time at which the next export begins', () => {
  const since = writePosition({ changedFrom: '2026-01-01T00:00:00Z', nextChangedFrom, cursor: null });
  expect(since).toBe('2026-01-31T12:41:03.218Z');
  expect(readPosition(since)).toEqual({ changedFrom: since, nextChangedFrom: null, cursor: null });
});

test.each([
  { changedFrom: null, nextChangedFrom, cursor: 'abc' },
  { changedFrom: '2026-01-01T00:00:00Z', nextChangedFrom, cursor: 'abc' },
  { changedFrom: '2026-01-01T00:00:00Z', nextChangedFrom: null, cursor: null },
  { changedFrom: null, nextChangedFrom: null, cursor: null },
])('an interrupted export continues at its position: %j', (position) => {
  expect(readPosition(writePosition(position))).toEqual(position);
});

test.each([
  '{',
  '{}',
  '{"changedFrom":1,"nextChangedFrom":"2026-01-31T12:41:03.218Z","cursor":"a"}',
  '{"changedFrom":null,"cursor":"a"}',
  '{"changedFrom":null,"nextChangedFrom":"soon","cursor":"a"}',
])('%s is refused, and the error names since', (since) =>
  expect(() => readPosition(since)).toThrow(/^since must be/),
);
