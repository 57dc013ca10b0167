import { readPlace, writePlace } from './place.ts';

const next = new Date('2026-01-31T12:41:03.218Z');

test('a run that has ended is told by the instant at which the next one begins', () => {
  const since = writePlace({ from: '2026-01-01T00:00:00Z', next, cursor: null });
  expect(since).toBe('2026-01-31T12:41:03.218Z');
  expect(readPlace(since)).toEqual({ from: since, next: null, cursor: null });
});

test.each([
  { from: null, next, cursor: 'abc' },
  { from: '2026-01-01T00:00:00Z', next, cursor: 'abc' },
  { from: '2026-01-01T00:00:00Z', next: null, cursor: null },
  { from: null, next: null, cursor: null },
])('a run half-way is taken up where it was: %j', (place) => {
  expect(readPlace(writePlace(place))).toEqual(place);
});

test('without a place everything is exported', () => {
  expect(readPlace(undefined)).toEqual({ from: null, next: null, cursor: null });
});

test.each([
  '{',
  '{}',
  '{"from":1,"next":"2026-01-31T12:41:03.218Z","cursor":"a"}',
  '{"from":null,"cursor":"a"}',
  '{"from":null,"next":"soon","cursor":"a"}',
])('%s is refused by name', (since) => expect(() => readPlace(since)).toThrow(/^since must be/));
