import type { Rated, RatedPartition } from '../rebuild/status.ts';
import { heldBackBy, judge, laggingPartitions } from './verdict.ts';

const partition = (topic: string, lag: number | null, lagSeconds: number | null): RatedPartition => ({
  topic,
  partition: 0,
  position: 10,
  end: 10,
  lag,
  lagSeconds,
  recordsPerSecond: 0,
  secondsLeft: null,
});

const generation = (changes: Partial<Rated> = {}): Rated => ({
  number: 1,
  state: 'active',
  condition: 'active',
  stopped: null,
  projectionVersion: 2,
  watermark: new Date(),
  lagSeconds: 1,
  topics: [],
  partitions: [],
  lag: 0,
  afterLoad: 0,
  savedAt: new Date(),
  rejects: [],
  rejectCount: 0,
  waitsFor: [],
  ...changes,
});

const quiet = { deadLetters: 0, warnings: [] };
const stopped = { reason: 'no projector has run since noon', isFinal: false };

test.each([
  ['all is well', [generation()], quiet, 1, 'well', 'All is well.'],
  [
    'there are dead letters',
    [generation()],
    { ...quiet, deadLetters: 3 },
    1,
    'attention',
    /but one finding needs attention/,
  ],
  [
    'a build is stopped',
    [generation(), generation({ number: 2, state: 'ready', condition: 'stopped', stopped })],
    quiet,
    1,
    'attention',
    /one finding/,
  ],
  [
    'the watermark lags',
    [generation({ condition: 'lagging', lagSeconds: 61 })],
    quiet,
    1,
    'lagging',
    /lags by 61 s/,
  ],
  ['no projector runs', [generation({ stopped, lagSeconds: 45 })], quiet, 1, 'lagging', /lags by 45 s/],
  ['nothing was applied yet', [generation({ lagSeconds: null })], quiet, 1, 'lagging', /no Data-As-Of/],
  ['no API replica is live', [generation()], quiet, 0, 'lagging', 'Not well: no API replica is live.'],
  [
    'no generation is active',
    [generation({ state: 'ready' })],
    quiet,
    1,
    'lagging',
    'No generation is active.',
  ],
] as const)('if %s, the verdict says so', (_, generations, counts, replicas, state, sentence) => {
  const verdict = judge([...generations], { ...counts, warnings: [...counts.warnings] }, replicas);
  expect(verdict.state).toBe(state);
  expect(verdict.sentence).toMatch(sentence);
});

test('a verdict lists every finding, a stopped projector with its reason', () => {
  const active = generation({ stopped, lagSeconds: 45, waitsFor: ['broker 7 does not answer'] });
  const { findings } = judge([active], { deadLetters: 10_000, warnings: ['not compacted'] }, 0);
  expect(findings).toEqual([
    'generation 1 is stopped: no projector has run since noon',
    'no API replica is live',
    'broker 7 does not answer',
    'dead letters: 10000 or more',
    'not compacted',
  ]);
});

test('the partition with the longest lag in seconds comes first, however few records wait', () => {
  const current = partition('current', 0, 1);
  const [few, many] = [partition('few', 1, 90), partition('many', 9_000, 12)];
  const [idle, unknown] = [partition('idle', 0, 40), partition('unknown', 5, null)];
  expect(laggingPartitions({ partitions: [current, many, few, idle, unknown] })).toEqual([
    unknown,
    few,
    idle,
    many,
  ]);
  expect(heldBackBy({ partitions: [current, many, few] })).toEqual(few);
  expect(heldBackBy({ partitions: [current, partition('busy', 20, 2)] })).toBeNull();
});
