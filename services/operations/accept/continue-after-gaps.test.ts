import type { Gap } from '../../../shared/control/log-gaps.ts';
import { containing } from '../../../tests/support/matchers.ts';
import { type Continuation, continueAfterGaps, type Logs } from './continue-after-gaps.ts';

const topicPartition = { topic: 't', partition: 0 };
const diverged: Gap = { ...topicPartition, kind: 'diverged', from: 5, to: 7, topicId: 'a' };
const deleted: Gap = { ...topicPartition, kind: 'deleted', from: 8, to: 11, topicId: 'a' };
const replaced: Gap = { ...topicPartition, kind: 'replaced', from: 0, to: 7, topicId: 'b' };

/** The log of the partition `t/0`, from its first offset to its end. */
const logFrom = (low: number, end: number): Logs => ({
  partitions: ['t/0'],
  ends: new Map([['t/0', { low, end, stable: end }]]),
  topicIds: new Map([['t', 'a']]),
  unreachable: [],
});
/** The same log in a topic that was created again. */
const recreatedFrom = (low: number, end: number): Logs => ({
  ...logFrom(low, end),
  topicIds: new Map([['t', 'b']]),
});
const onlyAnotherPartition: Logs = { ...logFrom(0, 9), partitions: ['t/1'] };

const appliedTo = (position: number) => [{ ...topicPartition, applied: { position, topicId: 'a' } }];

/** The gaps that were found, the log as it is when the operator accepts them, and where the partition continues. */
test.each<{
  where: string;
  gaps: Gap[];
  log: Logs;
  expected: Pick<Continuation, 'way' | 'nextOffset' | 'lostFrom'>;
}>([
  {
    where: 'at the first lost record of a diverged log',
    gaps: [diverged],
    log: logFrom(0, 9),
    expected: { way: 'reread', nextOffset: 5, lostFrom: 5 },
  },
  {
    where: 'at the end of a diverged log that has lost more records since',
    gaps: [diverged],
    log: logFrom(0, 3),
    expected: { way: 'reread', nextOffset: 3, lostFrom: 3 },
  },
  {
    where: 'at the present beginning of a diverged log that has lost its first records since',
    gaps: [diverged],
    log: logFrom(6, 9),
    expected: { way: 'reread', nextOffset: 6, lostFrom: 5 },
  },
  {
    where: 'after the deleted records',
    gaps: [deleted],
    log: logFrom(12, 20),
    expected: { way: 'skip', nextOffset: 12, lostFrom: null },
  },
  {
    where: 'after all deleted records, if more were deleted since',
    gaps: [deleted],
    log: logFrom(15, 20),
    expected: { way: 'skip', nextOffset: 15, lostFrom: null },
  },
  {
    where: 'at the beginning of another topic of this name',
    gaps: [replaced],
    log: recreatedFrom(0, 2),
    expected: { way: 'reset', nextOffset: 0, lostFrom: 0 },
  },
  {
    where: 'at the beginning of another topic, even of a long one',
    gaps: [replaced],
    log: recreatedFrom(3, 99),
    expected: { way: 'reset', nextOffset: 3, lostFrom: 0 },
  },
  {
    where: 'at the beginning of a topic that was created again since its gap was found',
    gaps: [diverged],
    log: recreatedFrom(0, 9),
    expected: { way: 'reset', nextOffset: 0, lostFrom: 0 },
  },
  {
    where: 'at the beginning of another topic, even without a stored gap',
    gaps: [],
    log: recreatedFrom(0, 9),
    expected: { way: 'reset', nextOffset: 0, lostFrom: 0 },
  },
  {
    where: 'nowhere if it no longer exists',
    gaps: [],
    log: onlyAnotherPartition,
    expected: { way: 'gone', nextOffset: null, lostFrom: 0 },
  },
])('a partition continues $where', ({ gaps, log, expected }) => {
  const result = continueAfterGaps({ gaps, progress: appliedTo(8), log });
  expect(result).toMatchObject({ continuations: [expected] });
});

test('records that were read but not applied before a diverged gap are applied, because the log has them', () => {
  const result = continueAfterGaps({ gaps: [diverged], progress: appliedTo(3), log: logFrom(0, 9) });
  expect(result).toMatchObject({ continuations: [{ way: 'reread', nextOffset: 3, lostFrom: 5 }] });
});

test('records that were read but not applied before deleted records are skipped with them', () => {
  const result = continueAfterGaps({ gaps: [deleted], progress: appliedTo(3), log: logFrom(12, 20) });
  const text = containing('the records from 3 to 11 are skipped');
  expect(result).toMatchObject({ continuations: [{ nextOffset: 12, text }] });
});

test('a partition whose log cannot be read does not continue', () => {
  const unread = { ...logFrom(0, 9), ends: new Map() };
  const result = continueAfterGaps({ gaps: [diverged], progress: appliedTo(8), log: unread });
  expect(result).toEqual({ problem: containing('the log of t/0 cannot be read') });
});

test('a partition does not count as gone while a broker does not answer', () => {
  const silent = { ...onlyAnotherPartition, unreachable: [{ broker: '1', error: 'no' }] };
  const result = continueAfterGaps({ gaps: [], progress: appliedTo(8), log: silent });
  expect(result).toEqual({ continuations: [] });
});
