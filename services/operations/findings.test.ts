import {
  before,
  type Changes,
  facts,
  factsOf,
  gap,
  partitionFacts,
  projector,
  report,
  safeTopic,
} from '../../tests/support/facts.ts';
import type { Facts } from './facts.ts';
import { blockingFindings, conditionOf, evaluateRules, findingsOf, verdictOf } from './findings.ts';
import type { GenerationFacts } from './generation-facts.ts';

const ready = (changes: Changes = {}) =>
  factsOf(2, 'ready', { ...changes, generation: { report, ...changes.generation } });
const evaluated = (state: Facts) => {
  const all = evaluateRules(state);
  const names = all.map(({ name, severity }) => `${name} ${severity}`);
  return { all, verdict: verdictOf(all, state), names };
};
const gaps = [gap];
const reject = {
  firstReject: { id: 'tags/0/1@0', reason: 'not_json' as const, detail: 'no' },
  rejectCount: 1,
};

const active = factsOf(1, 'active');
const well = 'All is well.';
const attention = 'The data is current, but one finding needs attention.';
const silent = { savedAt: before(31) };
const ended = { ...silent, projectors: [projector({ state: 'ended', reason: 'gone', at: before(30) })] };
const kafka = (changes: Partial<Facts['kafka']>) => ({ kafka: { ...facts([]).kafka, ...changes } });
/** One topic keeps tombstones for this long, and a second topic longer. */
const keptFor = (hours: number, cleanupPolicy: string | null = 'compact') =>
  kafka({
    settings: [
      { ...safeTopic, topic: 'users', deleteRetentionMs: 9_000 * 3_600_000 },
      { ...safeTopic, cleanupPolicy, deleteRetentionMs: hours * 3_600_000 },
    ],
  });
const away = kafka({ problem: 'no' });
const unreadable = kafka({ settingsProblem: 'no' });
const refused = kafka({ settings: [{ ...safeTopic, topic: 'users', refused: 'no' }] });
const misnamed = kafka({ missing: ['tags'], otherPrefixes: ['s.'] });
const living = kafka({
  members: new Map([
    [1, [{ memberId: 'm', clientId: 'c', host: 'h', partitions: [], foreignBecause: null }]],
  ]),
});
const unread = factsOf(2, 'building', { savedAt: null, watermark: null, lagSeconds: null });
/** An active generation, and others beside it. */
const alone = (changes: Changes, more: Partial<Facts> = {}) => facts([factsOf(1, 'active', changes)], more);
const beside = (build: GenerationFacts, more: Partial<Facts> = {}) => facts([active, build], more);

test.each<[fact: string, state: Facts, names: string[], sentence: string]>([
  ['nothing', alone({}), [], well],
  ['no projector ever', facts([], { registry: null }), ['registry bad'], 'Unknown: no projector has started'],
  ['dead letters', alone({}, { deadLetters: 3 }), ['dead-letters attention'], attention],
  ['tombstones kept as long as a rebuild takes', alone({}, keptFor(72, 'compact,delete')), [], well],
  ['tombstones kept for less', alone({}, keptFor(71)), ['topics attention'], attention],
  ['a topic that is not compacted', alone({}, keptFor(72, 'delete')), ['topics attention'], attention],
  ['unknown settings of a topic', alone({}, keptFor(72, null)), ['topics attention'], attention],
  ['a missing topic', alone({}, kafka({ missing: ['tags'] })), ['missing attention'], attention],
  [
    'a missing topic, for long',
    alone(silent, kafka({ missing: ['tags'] })),
    ['projectors bad', 'missing attention'],
    'Not well: no progress has been saved since 2026-11-24T11:59:29.000Z, because topics are missing.',
  ],
  [
    'a topic that is gone with applied records',
    alone({ partitions: [{ ...partitionFacts, applied: 1 }] }, kafka({ missing: ['tags'] })),
    ['missing bad'],
    'Not well: topics are gone, and their applied records with them: tags. Do not create',
  ],
  [
    'a topic that is gone, for long',
    alone({ ...silent, partitions: [{ ...partitionFacts, applied: 1 }] }, kafka({ missing: ['tags'] })),
    ['missing bad', 'projectors bad'],
    'Not well: topics are gone',
  ],
  ['a wrong TOPIC_PREFIX', alone({}, misnamed), ['missing attention'], attention],
  ['no replica', alone({}, { replicas: [] }), ['api bad'], 'Not well: no API replica is live.'],
  ['Kafka away', alone({}, away), ['kafka bad'], 'Not well: Kafka (KAFKA_BROKERS): no.'],
  ['a lag of 9 s', alone({ lagSeconds: 9 }), [], well],
  ['a lag of 15 s', alone({ lagSeconds: 15 }), ['lag attention'], attention],
  ['a lag of 40 s', alone({ lagSeconds: 40 }), ['lag bad'], 'Stale: Data-As-Of lags by 40 s.'],
  [
    'no watermark',
    alone({ lagSeconds: null }),
    ['lag bad'],
    'First load: 0 of 0 records applied, so there is no Data-As-Of yet.',
  ],
  ['a silent projector', alone(silent), ['projectors bad'], 'Not well: no projector has run since 2026-'],
  ['Kafka away for long', alone(silent, away), ['kafka bad', 'projectors bad'], 'Not well: Kafka'],
  [
    'a projector that saves nothing',
    alone({ ...silent, projectors: [projector()] }, kafka({ members: new Map() })),
    ['projectors bad'],
    'Not well: its projectors run, but have saved no progress since',
  ],
  [
    'a member of the group that announces nothing',
    alone(silent, living),
    ['projectors bad'],
    'Not well: its projectors run, but have saved no progress since',
  ],
  [
    'an ended projector',
    alone(ended),
    ['projectors bad'],
    'Not well: its projectors ended at 2026-11-24T11:59',
  ],
  ['a build that loads', beside(factsOf(2, 'building', { lag: 5 })), ['state progress'], well],
  ['a build alone', beside(unread), ['projectors attention', 'state progress'], attention],
  ['a build to be compared', beside(factsOf(2, 'ready')), ['compared progress'], well],
  ['a build to be promoted', beside(ready()), ['next progress'], well],
  ['a drop in progress', beside(factsOf(2, 'dropping')), ['dropping attention'], attention],
])('a status with %s has its findings and its verdict', (_, state, names, sentence) => {
  const { names: found, verdict: shown } = evaluated(state);
  expect(found).toEqual(names);
  expect(shown.sentence.startsWith(sentence)).toBe(true);
});

test('dead letters are counted, and the partition to look at is named', () => {
  const texts = (more: Partial<Facts>) => evaluateRules(alone({}, more)).map(({ text }) => text);
  expect(texts({ deadLetters: 10_000 })).toEqual(['dead letters: 10,000']);
  expect(texts({ deadLetterBytesFilled: 0.9 })).toEqual([]);
  expect(texts({ deadLetterBytesFilled: 0.99 })).toEqual([
    expect.stringContaining('further ones are stored without their bytes'),
  ]);
  const [rejects] = evaluateRules(beside(ready({ ...reject, rejectCount: 10_000 })));
  expect(rejects?.text).toContain('it has 10,000 dead letters that the active generation does not');
  const unreachable = [{ broker: '7', error: new Error('connect ECONNREFUSED') }];
  const log = {
    partitions: ['t/1', 't/0'],
    ends: new Map(),
    leaderEpochs: new Map(),
    topicIds: new Map(),
    unreachable,
  };
  expect(texts(kafka({ log }))).toEqual([
    't/0: its log cannot be read, because no leader answers, or it reports an error (2 partitions have none)',
    'broker 7 does not answer: connect ECONNREFUSED',
  ]);
  // and a lag names the partition that holds it, and its cause
  const slow = { ...partitionFacts, lag: 0, lagSeconds: 65, cause: 'unassigned' as const };
  const [lags] = evaluateRules(
    alone({ lagSeconds: 60, partitions: [{ ...slow, topic: 'a', lagSeconds: 64 }, slow] }),
  );
  expect(lags?.text).toBe(
    'it lags by 60 s, held by tags/0: 0 records to apply, no projector applies a partition',
  );
});

const promote = ['promote'];
const unpinned = facts([factsOf(1, 'active', { projectors: [projector({ isPinned: false })] }), ready()]);
const laggingPartitions = [{ key: 'tags/0', position: 1, active: 2 }];
const switches = ['promote', 'rollback'];
const every = ['ready', ...switches];
const compared = (changes: Partial<typeof report>) =>
  beside(ready({ generation: { report: { ...report, ...changes } } }));
const versions = (generation: number, against: number) => compared({ versions: { generation, against } });
const lag = (hours: number) => ({ longestBehindSeconds: hours * 3_600 });
const aWeekBehind = beside(ready({ generation: lag(168) }), keptFor(168));
const later = { projectionVersion: 2, report: { ...report, versions: { generation: 2, against: 1 } } };
const beginsAt = (low: number) => {
  const log = {
    partitions: ['t/0'],
    ends: new Map([['t/0', { low, end: 9, stable: 9 }]]),
    leaderEpochs: new Map<string, number>(),
    topicIds: new Map<string, string>(),
  };
  return kafka({ log: { ...log, unreachable: [] } });
};
const deletedSince = beside(
  ready({ generation: { report: { ...report, lows: [{ partition: 't/0', low: 2 }] } } }),
  beginsAt(3),
);

/** Facts of a ready build; `prevented` are the steps that the rule prevents, and `text` is part of its text. */
test.each<[fact: string, state: Facts, rule: string, prevented: string[], text: string]>([
  ['an unpinned projector', unpinned, 'pinned', promote, 'runs without GENERATION=1'],
  ['an old watermark', beside(ready({ watermark: before(60) })), 'freshness', switches, 'is 54 s older'],
  [
    'lower positions',
    beside(ready({ laggingPartitions })),
    'offsets',
    switches,
    'at offset 1, the active one at 2',
  ],
  ['another release', beside(ready({ generation: later })), 'replicas', switches, 'process 1 on h: deploy'],
  ['own dead letters', beside(ready(reject)), 'rejects', ['ready', 'promote'], 'it has 1 dead letter'],
  ['a lag', beside(ready({ lagSeconds: 12 })), 'lag', ['ready'], 'it lags by 12 s'],
  ['no projector', beside(ready(silent)), 'projectors', every, 'no projector has run'],
  ['a new topic', beside(ready({ recreated: ['a'] })), 'projectors', every, 'a: deleted and'],
  ['a long lag', aWeekBehind, 'tombstones', switches, 'it may hold erased entities'],
  ['no comparison', beside(factsOf(2, 'ready')), 'compared', promote, 'was not compared'],
  ['another comparison', compared({ against: 9 }), 'compared', promote, 'with generation 9, and 1 is'],
  ['another version', versions(2, 1), 'compared', promote, 'has changed since'],
  ['another one there', versions(1, 2), 'compared', promote, 'has changed since'],
  ['an old comparison', compared({ at: before(90_000) }), 'compared', promote, 'older than a day'],
  ['differences', compared({ differing: 2, differences: 8 }), 'compared', promote, 'in 2 of 3 documents'],
  ['deleted records', deletedSince, 'compared', promote, 't/0 now begins at another'],
  // Of the whole system, so they prevent the steps of each generation.
  ['Kafka away', beside(ready(), away), 'kafka', every, 'Kafka (KAFKA_BROKERS): no'],
  ['unread settings', beside(ready(), unreadable), 'settings', switches, 'needs DescribeConfigs: no'],
  ['those of one topic', beside(ready(), refused), 'settings', switches, 'of users: the Kafka user needs'],
])('%s prevents only the steps of its rule', (_, state, name, steps, text) => {
  const all = evaluateRules(state);
  for (const step of ['ready', 'promote', 'rollback'] as const) {
    const names = blockingFindings(all, 2, step).map((finding) => finding.name);
    expect({ step, names }).toEqual({ step, names: steps.includes(step) ? [name] : [] });
  }
  expect(all.find((finding) => finding.name === name && finding.generation !== 1)?.text).toContain(text);
});

test('the lag of a generation counts from the start of its first projector', () => {
  const missed = (changes: Changes) =>
    evaluated(alone(changes, keptFor(168))).names.filter((name) => name.startsWith('tomb'));
  const { startedAt: _startedAt, ...unstarted } = { ...active.generation, since: before(200 * 3_600) };
  const unfollowed: GenerationFacts = { ...active, watermark: null, generation: unstarted };
  expect(evaluated(facts([unfollowed], keptFor(168))).names).toEqual([]);
  const startedAt = (hours: number) => ({ startedAt: before(hours * 3_600) });
  expect(missed({ watermark: before(199 * 3_600), generation: startedAt(200) })).toEqual(['tombstones bad']);
  expect(missed({ watermark: new Date(0), generation: startedAt(1) })).toEqual([]);
  expect(missed({ watermark: null, generation: startedAt(169) })).toEqual(['tombstones bad']);
});

test('the next step of a generation is the fix of its first finding', () => {
  const fixOf = (state: Facts, number: number) => {
    const [build] = state.generations.filter(({ generation }) => generation.number === number);
    return build && findingsOf(evaluateRules(state), build)[0]?.fix;
  };
  const dead = { gaps: [{ ...gap, _id: '2/t/0', generation: 2 }] };
  expect(fixOf(facts([active, ready()]), 2)).toBe('npx support-cli rebuild promote 2');
  expect(fixOf(facts([active, factsOf(2, 'ready')]), 2)).toBe('npx support-cli rebuild compare 2');
  expect(fixOf(facts([active, factsOf(2, 'building')]), 2)).toBe('npx support-cli rebuild await 2');
  expect(fixOf(facts([active, ready(reject)]), 2)).toBe('npx support-cli dead-letters list');
  expect(fixOf(facts([active, factsOf(2, 'standby')]), 2)).toBe('npx support-cli rebuild rollback 2');
  expect(fixOf(facts([active, factsOf(2, 'dropping')]), 2)).toBe('npx support-cli rebuild drop 2');
  expect(fixOf(facts([active, ready(dead)]), 2)).toBe('npx support-cli rebuild drop 2');
  expect(fixOf(facts([factsOf(1, 'active', silent)]), 1)).toBe('GENERATION=1 npm run projector');
  expect(fixOf(facts([factsOf(1, 'active', { gaps })]), 1)).toBe('npx support-cli rebuild start');
  // No wait ends for a standby that no projector can continue.
  expect(fixOf(beside(factsOf(2, 'standby', { ...dead, laggingPartitions, watermark: before(60) })), 2)).toBe(
    'npx support-cli rebuild drop 2',
  );
  const over = evaluated(beside(factsOf(2, 'standby', { ...dead, laggingPartitions })));
  expect(over.names).toEqual(['projectors attention']);
  // A build in progress replaces an active generation that cannot continue: another start would be refused.
  expect(fixOf(facts([factsOf(1, 'active', { gaps }), ready()]), 1)).toBe('npx support-cli rebuild await 2');
});

test('the condition of a generation shows more than its state', () => {
  const of = (build: GenerationFacts, more = {}) => conditionOf(evaluateRules(beside(build, more)), build);
  expect(of(ready())).toBe('ready');
  expect(of(ready(reject))).toBe('failing');
  expect(of(factsOf(2, 'standby', reject))).toBe('standby');
  expect(of(ready({ lagSeconds: 31 }))).toBe('lagging');
  expect(of(ready(silent))).toBe('stopped');
  const cutOff = projector({ generation: 2, state: 'cut_off', reason: 'no answer' });
  expect(of(ready({ ...silent, projectors: [cutOff] }), away)).toBe('stalled');
});
