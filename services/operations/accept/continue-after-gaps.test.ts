import type { Gap } from '../../../shared/control/log-gaps.ts';
import { containing } from '../../../tests/support/matchers.ts';
import { type Continuation, continueAfterGaps } from './continue-after-gaps.ts';

const place = { topic: 't', partition: 0 };
const diverged: Gap = { ...place, kind: 'diverged', from: 5, to: 7, topicId: 'a' };
const deleted: Gap = { ...place, kind: 'deleted', from: 8, to: 11, topicId: 'a' };
const replaced: Gap = { ...place, kind: 'replaced', from: 0, to: 7, topicId: 'b' };

type Log = Parameters<typeof continueAfterGaps>[0]['log'];
const log = (low: number, end: number, changes: Partial<Log> = {}): Log => ({
  partitions: ['t/0'],
  ends: new Map([['t/0', { low, end, stable: end }]]),
  topicIds: new Map([['t', 'a']]),
  unreachable: [],
  ...changes,
});
const progress = [{ ...place, applied: { position: 8, topicId: 'a' } }];
const otherTopicId = { topicIds: new Map([['t', 'b']]) };

const described = ({ way, nextOffset, lostFrom }: Continuation) =>
  `${way} ${nextOffset}, lost from ${lostFrom}`;

/** The gap that was found, the log as it is when the operator accepts it, and where the partition continues. */
test.each<[string, Gap[], Log, string]>([
  ['at the first lost record of a diverged log', [diverged], log(0, 9), 'reread 5, lost from 5'],
  [
    'at the end of a diverged log that has lost more records since',
    [diverged],
    log(0, 3),
    'reread 3, lost from 3',
  ],
  [
    'at the present beginning of a diverged log that has lost its first records since',
    [diverged],
    log(6, 9),
    'reread 6, lost from 5',
  ],
  ['after the deleted records', [deleted], log(12, 20), 'skip 12, lost from null'],
  [
    'after all deleted records, if more were deleted since',
    [deleted],
    log(15, 20),
    'skip 15, lost from null',
  ],
  [
    'at the beginning of another topic of this name',
    [replaced],
    log(0, 2, otherTopicId),
    'reset 0, lost from 0',
  ],
  [
    'at the beginning of another topic, even of a long one',
    [replaced],
    log(3, 99, otherTopicId),
    'reset 3, lost from 0',
  ],
  [
    'at the beginning of a topic that was created again since its gap was found',
    [diverged],
    log(0, 9, otherTopicId),
    'reset 0, lost from 0',
  ],
  [
    'at the beginning of another topic, even without a stored gap',
    [],
    log(0, 9, otherTopicId),
    'reset 0, lost from 0',
  ],
  ['nowhere if it no longer exists', [], log(0, 9, { partitions: ['t/1'] }), 'gone null, lost from 0'],
])('a partition continues %s', (_, gaps, now, expected) => {
  const result = continueAfterGaps({ gaps, progress, log: now });
  expect('problem' in result ? result : result.continuations.map(described)).toEqual([expected]);
});

test('records that were read but not applied before the gap are applied if the log has them', () => {
  const unfinished = [{ ...place, applied: { position: 3, topicId: 'a' } }];
  const accept = (gap: Gap, now: Log) => continueAfterGaps({ gaps: [gap], progress: unfinished, log: now });
  expect(accept(diverged, log(0, 9))).toMatchObject({
    continuations: [{ way: 'reread', nextOffset: 3, lostFrom: 5 }],
  });
  expect(accept(deleted, log(12, 20))).toMatchObject({
    continuations: [{ nextOffset: 12, text: containing('the records from 3 to 11 are skipped') }],
  });
});

test('a partition whose log cannot be read neither continues nor counts as gone', () => {
  const unread = log(0, 9, { ends: new Map() });
  expect(continueAfterGaps({ gaps: [diverged], progress, log: unread })).toEqual({
    problem: containing('the log of t/0 cannot be read'),
  });
  const silent = log(0, 9, { partitions: ['t/1'], unreachable: [{ broker: '1', error: 'no' }] });
  expect(continueAfterGaps({ gaps: [], progress, log: silent })).toEqual({ continuations: [] });
});
