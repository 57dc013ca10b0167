import type { Facts } from '../../services/operations/facts.ts';
import type { GenerationFacts } from '../../services/operations/generation-facts.ts';
import type { Generation } from '../../shared/control/generations.ts';
import type { LogGap } from '../../shared/control/log-gaps.ts';
import type { Projector } from '../../shared/control/processes.ts';
import type { TopicSettings } from '../../shared/kafka/topic-settings.ts';

/** Facts that need no finding, for tests that change one of them. */
export const now = new Date('2026-11-24T12:00:00Z');
export const before = (seconds: number) => new Date(now.getTime() - seconds * 1_000);
export const report: NonNullable<Generation['report']> = {
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

/** Settings of a topic that loses nothing. */
export const safeTopic: TopicSettings = {
  topic: 'tags',
  cleanupPolicy: 'compact',
  deleteRetentionMs: 9 * 86_400_000,
  retentionMs: -1,
  retentionBytes: -1,
  maxMessageBytes: 1_048_588,
  allowsUncleanElection: false,
};

/** A partition without a record. */
export const partitionFacts: GenerationFacts['partitions'][0] = {
  topic: 'tags',
  partition: 0,
  applied: 0,
  position: 0,
  end: 0,
  lag: null,
  lagSeconds: null,
  recordsPerSecond: 0,
  secondsLeft: null,
  cause: null,
  waitingSince: null,
  throttledMs: null,
  owner: null,
  release: null,
};

/** Fields of `GenerationFacts` that differ from those of a sound generation. */
export type Changes = Partial<Omit<GenerationFacts, 'generation'>> & { generation?: Partial<Generation> };

/** A generation that needs no finding, with changes. */
export const factsOf = (
  number: number,
  state: Generation['state'],
  changes: Changes = {},
): GenerationFacts => ({
  watermark: before(6),
  lagSeconds: 1,
  isWatermarkLost: false,
  structures: { database: 'support_g1', lost: [], faults: [] },
  partitions: [],
  topics: [],
  lag: 0,
  recordsAfterLoad: 0,
  savedAt: now,
  savedBy: null,
  projectors: [],
  recreated: [],
  gaps: [],
  otherTopics: null,
  firstReject: null,
  rejectCount: 0,
  laggingPartitions: [],
  ...changes,
  generation: {
    number,
    projectionVersion: 1,
    state,
    since: before(9_000),
    startedAt: before(9_000),
    ...changes.generation,
  },
});

/** Facts that need no finding, about these generations, with changes. */
export const facts = (generations: GenerationFacts[], changes: Partial<Facts> = {}): Facts => ({
  now,
  deployment: 'source',
  registry: {
    _id: 'active',
    form: 1,
    generation: activeNumber(generations),
    since: before(9_000),
    revision: 1,
    lastNumber: 2,
    generations: generations.map(({ generation }) => generation),
    history: [],
  },
  leftovers: [],
  lost: [],
  sharedTokens: [],
  generations,
  kafka: {
    problem: null,
    missing: [],
    hidden: [],
    otherPrefixes: [],
    log: null,
    settings: [],
    settingsProblem: null,
    members: new Map(generations.map(({ generation }) => [generation.number, []])),
  },
  replicas: [
    {
      _id: 'a',
      role: 'api',
      host: 'h',
      pid: 1,
      release: '1',
      generation: 1,
      versions: [1],
      inProgress: [],
      state: 'running',
      reason: null,
      at: now,
    },
  ],
  noMajoritySince: null,
  deadLetters: 0,
  notCounted: [],
  deadLetterBytesFilled: 0,
  ...changes,
});

function activeNumber(generations: GenerationFacts[]): number {
  const active = generations.find(({ generation }) => generation.state === 'active');
  return active ? active.generation.number : 1;
}

/** A projector of generation 1, with changes. */
export const projector = (changes: Partial<Projector> = {}): Projector => ({
  _id: 'p',
  role: 'projector',
  host: 'h',
  pid: 7,
  release: '1.0.0',
  joinedBy: '1.0.0+a',
  generation: 1,
  isPinned: true,
  duties: { sweep: null },
  state: 'running',
  reason: null,
  at: now,
  ...changes,
});

/** A gap in the log of generation 1. */
export const gap: LogGap = {
  _id: '1/t/0',
  generation: 1,
  topic: 't',
  partition: 0,
  topicId: null,
  by: 'p',
  at: before(1),
  kind: 'deleted',
  from: 3,
  to: 7,
};
