import { readPosition, writePosition } from './position.ts';

const next = new Date('2026-01-31T12:41:03.218Z');

test('a completed run is stored as the instant at which the next run begins', () => {
  const since = writePosition({ from: '2026-01-01T00:00:00Z', next, cursor: null });
  expect(since).toBe('2026-01-31T12:41:03.218Z');
  expect(readPosition(since)).toEqual({ from: since, next: null, cursor: null });
});

test.each([
  { from: null, next, cursor: 'abc' },
  { from: '2026-01-01T00:00:00Z', next, cursor: 'abc' },
  { from: '2026-01-01T00:00:00Z', next: null, cursor: null },
  { from: null, next: null, cursor: null },
])('an interrupted run continues at its position: %j', (position) => {
  expect(readPosition(writePosition(position))).toEqual(position);
});

test.each([
  '{',
  '{}',
  '{"from":1,"next":"2026-01-31T12:41:03.218Z","cursor":"a"}',
  '{"from":null,"cursor":"a"}',
  '{"from":null,"next":"soon","cursor":"a"}',
])('%s is refused, and the error names since', (since) =>
  expect(() => readPosition(since)).toThrow(/^since must be/),
);
