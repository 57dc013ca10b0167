import type { Generation } from '../../shared/control/generations.ts';
import type { Progress } from '../../shared/control/progress.ts';
import { measurePartitions, sumByTopic } from './partitions.ts';

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
const generation = { number: 1, state: 'active' } as Generation;
const progress = (partition: number, position: number, updatedAt = at(60)) =>
  ({
    ...{ topic: 't', partition, applied: { position }, end: 90, completeTo: at(50), updatedAt },
    saved: { cause: 'backlog' },
  }) as Progress;
const log = {
  partitions: ['t/0', 't/1'],
  ends: new Map(['t/0', 't/1'].map((key) => [key, { low: 0, end: 100, stable: 100 }])),
  leaderEpochs: new Map<string, number>(),
  topicIds: new Map<string, string>(),
  unreachable: [],
};
const member = (partitions: string[]) => ({
  memberId: 'm',
  clientId: 'c',
  host: 'h',
  partitions,
  foreignBecause: null,
});
const base = {
  generation,
  topics: ['t'],
  log,
  members: null,
  recreated: [],
  projectors: [],
  lagOf: () => 5,
  earlier: null,
};
const measure = (changes: Partial<Parameters<typeof measurePartitions>[0]>) =>
  measurePartitions({ ...base, progress: [progress(0, 40), progress(1, 70)], ...changes }).partitions;

test('two readings give the positions, the lag, the rate and the remaining time', () => {
  const earlier = { partitions: measure({ progress: [progress(0, 20), progress(1, 70)] }), seconds: 10 };
  expect(measure({ earlier })).toMatchObject([
    { partition: 0, position: 40, end: 100, lag: 60, recordsPerSecond: 2, secondsLeft: 30 },
    { partition: 1, position: 70, end: 100, lag: 30, recordsPerSecond: 0, secondsLeft: null },
  ]);
  // A position that goes back, as after a restore of the store, yields no rate.
  expect(measure({ earlier, progress: [progress(0, 10)] })[0]).toMatchObject({
    recordsPerSecond: 0,
    secondsLeft: null,
  });
});

test('the cause is the saved one, unless nothing applies the partition or its log has no leader', () => {
  const causes = (changes: Parameters<typeof measure>[0]) => measure(changes).map(({ cause }) => cause);
  expect(causes({})).toEqual(['backlog', 'backlog']);
  expect(causes({ members: [member(['t/0'])] })).toEqual(['backlog', 'unassigned']);
  const unled = { ...log, ends: new Map([['t/0', { low: 0, end: 100, stable: 100 }]]) };
  expect(measure({ log: unled })).toMatchObject([{ cause: 'backlog' }, { cause: 'unreadable', lag: null }]);
  expect(causes({ log: null })).toEqual(['unreadable', 'unreadable']);
  const applied = [progress(0, 100), progress(1, 70)];
  expect(causes({ progress: applied })).toEqual([null, 'backlog']);
  expect(causes({ progress: applied, members: [] })).toEqual(['unassigned', 'unassigned']);
  const left = [progress(0, 40), progress(1, 70, at(0))];
  expect(causes({ progress: left })).toEqual(['backlog', 'unassigned']);
  expect(causes({ progress: left, members: [member(['t/0', 't/1'])] })).toEqual(['backlog', 'starting']);
});

test('partitions are in the order of topics and numbers', () => {
  const log2 = { ...log, partitions: ['u/0', 't/10', 't/9'] };
  const order = measure({ topics: ['t', 'u'], log: log2, progress: [] });
  expect(order.map(({ topic, partition }) => `${topic}/${partition}`)).toEqual(['t/9', 't/10', 'u/0']);
});

test('the partitions of a loading build end where the load ends', () => {
  const loadTo = [
    { topic: 't', partition: 0, end: 50 },
    { topic: 't', partition: 1, end: 500 },
  ];
  const building = { ...generation, state: 'building', loadTo } as Generation;
  const measured = measurePartitions({ ...base, generation: building, progress: [progress(0, 40)] });
  expect(measured.partitions).toMatchObject([
    { end: 50, lag: 10 },
    { end: 100, lag: 100 },
  ]);
  expect(measured.recordsAfterLoad).toBe(50);
});

test('a topic has the sums of its partitions, and the longest lag and wait among them', () => {
  const [first, second] = measure({}).map((partition, index) => ({
    ...partition,
    lagSeconds: 5 + index,
    secondsLeft: 30 - index,
  }));
  if (!first || !second) throw new Error('two partitions were measured');
  expect(sumByTopic([first, second])).toMatchObject([
    { topic: 't', position: 110, end: 200, lag: 90, lagSeconds: 6, secondsLeft: 30 },
  ]);
  // The oldest partition may have applied everything, so the cause comes from a partition that has not.
  expect(sumByTopic([first, { ...second, cause: null }])[0]?.cause).toBe('backlog');
  expect(sumByTopic([first, { ...second, lag: null, secondsLeft: null }])).toMatchObject([
    { lag: null, secondsLeft: null },
  ]);
});
