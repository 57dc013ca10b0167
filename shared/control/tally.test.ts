import {
  closeOffsets,
  countRejects,
  emptyTally,
  type OpenTally,
  openTally,
  packTally,
  purgeOffsets,
} from './tally.ts';

const now = new Date('2026-01-01T00:00:00Z');
const reject = (offset: number, detail = 'value: must be JSON') => ({
  ...{ offset, timestampMs: 1_000 + offset, reason: 'not_json' as const, detail },
});
const given = (): OpenTally => openTally(emptyTally('support.tags/0/000000000010000'));
const counts = (tally: OpenTally) => packTally(tally).entries.map(({ count }) => count);

test('a record counts once, whatever rejects it again', () => {
  const tally = given();
  for (const generation of [1, 1, 2])
    countRejects(tally, [reject(10_000), reject(10_007)], { generation, now });
  countRejects(tally, [reject(10_007, 'another')], { generation: 3, now });
  const [entry, ...others] = packTally(tally).entries;
  expect(others).toEqual([]);
  expect(entry).toMatchObject({
    count: 2,
    first: 10_000,
    last: 10_007,
    earliestMs: 11_000,
    latestMs: 11_007,
  });
  expect(entry?.lacking.map(({ generation }) => generation)).toEqual([1, 2, 3]);
});

test('a record stays counted until no generation lacks it', () => {
  const tally = given();
  for (const generation of [1, 2]) countRejects(tally, [reject(10_000)], { generation, now });
  closeOffsets(tally, [10_000], 1);
  expect(counts(tally)).toEqual([1]);
  closeOffsets(tally, [10_000], 2);
  expect(counts(tally)).toEqual([]);
});

test('a purged record is counted no more, unless a later one has its offset', () => {
  const tally = given();
  countRejects(tally, [reject(10_000), reject(10_001)], { generation: 1, now });
  purgeOffsets(tally, [10_000], { at: now, by: 'ann' });
  countRejects(tally, [reject(10_000)], { generation: 2, now });
  expect(counts(tally)).toEqual([1]);
  countRejects(tally, [{ ...reject(10_000), timestampMs: 99_999 }], { generation: 2, now });
  expect(counts(tally)).toEqual([2]);
});

test('ever other details share an entry after the first 20', () => {
  const tally = given();
  for (let index = 0; index < 60; index += 1)
    countRejects(tally, [reject(10_000 + index, `field ${index}`)], { generation: 1, now });
  expect(counts(tally)).toEqual([...Array.from({ length: 20 }, () => 1), 40]);
});
