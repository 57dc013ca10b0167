import type { Generation } from '../../shared/control/generations.ts';
import type { Facts, GenerationFacts } from './facts.ts';
import { blocking, checklist, condition, findings, findingsOf, verdict } from './findings.ts';

const now = new Date('2026-11-24T12:00:00Z');
const before = (seconds: number) => new Date(now.getTime() - seconds * 1_000);
const report: NonNullable<Generation['report']> = {
  at: before(60),
  against: 1,
  versions: { generation: 1, against: 1 },
  lows: [],
  compared: 3,
  differing: 0,
  differences: 0,
  expected: 0,
  expectations: [],
  by: 'ann',
};

type Changes = Partial<Omit<GenerationFacts, 'generation'>> & { generation?: Partial<Generation> };
const own = (number: number, state: Generation['state'], changes: Changes = {}): GenerationFacts => ({
  watermark: before(6),
  lagSeconds: 1,
  partitions: [],
  topics: [],
  lag: 0,
  recordsAfterLoad: 0,
  savedAt: now,
  isUnpinned: false,
  recreated: [],
  failure: null,
  rejects: [],
  rejectCount: 0,
  isBehind: [],
  ...changes,
  generation: {
    number,
    projectionVersion: 1,
    state,
    since: before(9_000),
    registeredAt: before(9_000),
    ...changes.generation,
  },
});
const facts = (generations: GenerationFacts[], changes: Partial<Facts> = {}): Facts => ({
  now,
  deployment: 'source',
  rebuildDaysMax: 3,
  registry: {
    _id: 'active',
    generation: 1,
    since: before(9_000),
    revision: 1,
    lastNumber: 2,
    generations: generations.map(({ generation }) => generation),
    history: [],
  },
  generations,
  kafka: { problem: null, missing: [], log: null, settings: [], settingsProblem: null, members: new Map() },
  replicas: [
    { _id: 'a', host: 'h', pid: 1, release: '1', generation: 1, versions: [1], inProgress: [], at: now },
  ],
  deadLetters: 0,
  ...changes,
});
const ready = (changes: Changes = {}) =>
  own(2, 'ready', { ...changes, generation: { report, ...changes.generation } });
const judged = (given: Facts) => {
  const all = findings(given);
  return { all, verdict: verdict(given, all), names: all.map(({ name, severity }) => `${name} ${severity}`) };
};
const failure = { _id: 1, reason: 'gone', isFinal: true, by: 'p', at: before(1) };
const reject = {
  rejects: [{ _id: 'tags/0/1@0', reason: 'not_json' as const, detail: 'no' }],
  rejectCount: 1,
};

/** A fact, the findings that follow, and the verdict. */
test.each<[string, Facts, string[], string]>([
  ['nothing', facts([own(1, 'active')]), [], 'All is well.'],
  [
    'no projector has ever started',
    facts([], { registry: null }),
    ['registry bad'],
    'Unknown: no projector has started on this database.',
  ],
  [
    'dead letters',
    facts([own(1, 'active')], { deadLetters: 3 }),
    ['dead-letters attention'],
    'The data is current, but one finding needs attention.',
  ],
  [
    'a missing topic',
    facts([own(1, 'active')], { kafka: { ...facts([]).kafka, missing: ['tags'] } }),
    ['topics attention'],
    'The data is current, but one finding needs attention.',
  ],
  [
    'no replica',
    facts([own(1, 'active')], { replicas: [] }),
    ['api bad'],
    'Not well: no API replica is live.',
  ],
  [
    'Kafka away',
    facts([own(1, 'active')], { kafka: { ...facts([]).kafka, problem: 'no answer' } }),
    ['kafka bad'],
    'Not well: Kafka (KAFKA_BROKERS): no answer.',
  ],
  ['a lag of 9 s', facts([own(1, 'active', { lagSeconds: 9 })]), [], 'All is well.'],
  [
    'a lag of 15 s',
    facts([own(1, 'active', { lagSeconds: 15 })]),
    ['lag attention'],
    'The data is current, but one finding needs attention.',
  ],
  [
    'a lag of 40 s',
    facts([own(1, 'active', { lagSeconds: 40 })]),
    ['lag bad'],
    'Stale: Data-As-Of lags by 40 s.',
  ],
  [
    'no watermark',
    facts([own(1, 'active', { lagSeconds: null })]),
    ['lag bad'],
    'Unknown: some partitions have not been applied yet, so there is no Data-As-Of.',
  ],
  [
    'a silent projector',
    facts([own(1, 'active', { savedAt: before(31) })]),
    ['projectors bad'],
    'Not well: no projector has run since 2026-11-24T11:59:29.000Z.',
  ],
  [
    'a projector that cannot continue',
    facts([own(1, 'active', { failure })]),
    ['projectors bad'],
    'Not well: its projectors ended at 2026-11-24T11:59:59.000Z: gone.',
  ],
  [
    'a build that loads',
    facts([own(1, 'active'), own(2, 'building', { lag: 5 })]),
    ['state progress'],
    'All is well.',
  ],
  [
    'a build without a projector',
    facts([own(1, 'active'), own(2, 'building', { savedAt: null })]),
    ['projectors attention', 'state progress'],
    'The data is current, but one finding needs attention.',
  ],
  [
    'a build to be compared',
    facts([own(1, 'active'), own(2, 'ready')]),
    ['compared progress'],
    'All is well.',
  ],
  ['a build to be promoted', facts([own(1, 'active'), ready()]), ['next progress'], 'All is well.'],
  [
    'a drop in progress',
    facts([own(1, 'active'), own(2, 'dropping')]),
    ['dropping attention'],
    'The data is current, but one finding needs attention.',
  ],
])('%s', (_, given, names, sentence) => {
  const { names: found, verdict: said } = judged(given);
  expect(found).toEqual(names);
  expect(said.sentence).toBe(sentence);
});

/** A fact of a ready build, and the steps that it prevents. */
test.each<[string, Facts, string, string[]]>([
  [
    'a projector that a restart would move',
    facts([own(1, 'active', { isUnpinned: true }), ready()]),
    'pinned',
    ['promote'],
  ],
  [
    'an old watermark',
    facts([own(1, 'active'), ready({ watermark: before(60) })]),
    'freshness',
    ['promote', 'rollback'],
  ],
  [
    'lower positions',
    facts([own(1, 'active'), ready({ isBehind: [{ key: 'tags/0', position: 1, active: 2 }] })]),
    'offsets',
    ['promote', 'rollback'],
  ],
  [
    'a replica of another release',
    facts([
      own(1, 'active'),
      ready({
        generation: { projectionVersion: 2, report: { ...report, versions: { generation: 2, against: 1 } } },
      }),
    ]),
    'replicas',
    ['promote', 'rollback'],
  ],
  ['dead letters of its own', facts([own(1, 'active'), ready(reject)]), 'rejects', ['ready', 'promote']],
  ['a lag', facts([own(1, 'active'), ready({ lagSeconds: 12 })]), 'lag', ['ready']],
  ['no comparison', facts([own(1, 'active'), own(2, 'ready')]), 'compared', ['promote']],
  [
    'no projector',
    facts([own(1, 'active'), ready({ savedAt: before(31) })]),
    'projectors',
    ['ready', 'promote', 'rollback'],
  ],
])('%s prevents the steps of its rule alone', (_, given, name, steps) => {
  const all = findings(given);
  for (const step of ['ready', 'promote', 'rollback'] as const)
    expect([step, blocking(all, 2, step).map((one) => one.name)]).toEqual([
      step,
      steps.includes(step) ? [name] : [],
    ]);
});

test('an option waives the findings that name it, and no others', () => {
  const given = facts([own(1, 'active'), own(2, 'ready', { watermark: before(60) })]);
  const all = findings(given, { waivers: ['--accept-older'] });
  expect(blocking(all, 2, 'promote').map(({ name }) => name)).toEqual(['compared']);
  expect(checklist(all, 2, 'promote').filter(({ isWaived }) => isWaived)).toMatchObject([
    { name: 'freshness', isMet: true },
  ]);
});

test('the next step of a generation is the remedy of its first finding', () => {
  const remedy = (given: Facts, number: number) => {
    const [one] = given.generations.filter(({ generation }) => generation.number === number);
    return one && findingsOf(findings(given), one)[0]?.remedy;
  };
  const dead = { failure: { ...failure, _id: 2 } };
  expect(remedy(facts([own(1, 'active'), ready()]), 2)).toBe('npx support-cli rebuild promote 2');
  expect(remedy(facts([own(1, 'active'), own(2, 'ready')]), 2)).toBe('npx support-cli rebuild compare 2');
  expect(remedy(facts([own(1, 'active'), own(2, 'building')]), 2)).toBe('npx support-cli rebuild await 2');
  expect(remedy(facts([own(1, 'active'), ready(reject)]), 2)).toBe('npx support-cli dead-letters list');
  expect(remedy(facts([own(1, 'active'), own(2, 'standby')]), 2)).toBe('npx support-cli rebuild rollback 2');
  expect(remedy(facts([own(1, 'active'), own(2, 'dropping')]), 2)).toBe('npx support-cli rebuild drop 2');
  expect(remedy(facts([own(1, 'active'), ready(dead)]), 2)).toBe('npx support-cli rebuild drop 2');
  expect(remedy(facts([own(1, 'active', { savedAt: before(31) })]), 1)).toBe(
    'GENERATION=1 npm run projector',
  );
  expect(remedy(facts([own(1, 'active', { failure })]), 1)).toBe('npx support-cli rebuild start');
  // A build in progress replaces an active generation that cannot continue: another start would be refused.
  expect(remedy(facts([own(1, 'active', { failure }), ready()]), 1)).toBe('npx support-cli rebuild await 2');
});

test('the condition of a generation tells more than its state', () => {
  const of = (one: GenerationFacts) => condition(findings(facts([own(1, 'active'), one])), one);
  expect(of(ready())).toBe('ready');
  expect(of(ready(reject))).toBe('failing');
  expect(of(ready({ lagSeconds: 31 }))).toBe('lagging');
  expect(of(ready({ savedAt: before(31) }))).toBe('stopped');
});
