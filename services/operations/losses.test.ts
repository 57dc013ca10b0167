import {
  before,
  type Changes,
  facts,
  factsOf,
  partitionFacts,
  projector,
} from '../../tests/support/facts.ts';
import type { Facts } from './facts.ts';
import { evaluateRules, verdictOf, withoutConsequences } from './findings.ts';

const active = (changes: Changes) => facts([factsOf(1, 'active', changes)]);
const updated = { kind: 'ticket', index: 'updated' } as const;
const lacking = {
  database: 'support_g1',
  lost: [],
  faults: [
    { ...updated, fault: 'missing' as const },
    ...['created', 'expiry'].map((index) => ({ kind: 'qa' as const, index, fault: 'missing' as const })),
  ],
};
const lostWatermark = { isWatermarkLost: true, watermark: null, lagSeconds: null };

/** A loss, its finding with the fix, and the verdict. */
test.each<{ name: string; state: Facts; finding: object; sentence: string }>([
  {
    name: 'the registry',
    state: facts([], { registry: null, leftovers: ['progress', 'support_g3'] }),
    finding: { name: 'registry', generation: null, fix: null },
    sentence:
      'Not well: the registry of generations is lost, but a read model is left: progress, support_g3.',
  },
  {
    name: 'the watermark',
    state: active(lostWatermark),
    finding: { name: 'watermark', generation: 1, fix: 'GENERATION=1 npm run projector' },
    sentence: 'Not well: its watermark is lost: a projector sets it again',
  },
  {
    name: 'a collection and an index',
    state: active({ structures: lacking }),
    finding: { name: 'structures', generation: 1, fix: 'GENERATION=1 npm run projector' },
    sentence:
      'Not well: its database support_g1 lacks tickets.updated, all indexes of qas, so the API answers 503',
  },
  {
    name: 'an index to an operator who has hidden it',
    state: active({ structures: { ...lacking, faults: [{ ...updated, fault: 'hidden' }] }, lagSeconds: 40 }),
    finding: {
      name: 'structures',
      fix: "db.getSiblingDB('support_g1').runCommand({ collMod: 'tickets', index: { name: 'updated', hidden: false } })",
    },
    sentence:
      'Not well: indexes of its database support_g1 are hidden, so the API answers 503: tickets.updated (hidden)',
  },
  {
    name: 'the majority of stale data',
    state: facts([factsOf(1, 'active', { lagSeconds: 40 })], { noMajoritySince: before(60) }),
    finding: { name: 'majority', generation: null, fix: null },
    sentence:
      "Not well: a majority of MongoDB's members has confirmed no write since 2026-11-24T11:59:00.000Z",
  },
  {
    name: 'the progress',
    state: active({ savedAt: null }),
    finding: { name: 'projectors', generation: 1, fix: 'npx support-cli rebuild start', isFinal: true },
    sentence: 'Not well: its progress is lost, so no projector continues',
  },
  {
    name: 'the blocked keys of stale data',
    state: facts([factsOf(1, 'active', { lagSeconds: 40 })], {
      lost: [{ database: 'support', collection: 'blocked_keys', loss: 'gone' }],
    }),
    finding: { name: 'lost', generation: null, accept: 'npx support-cli accept lost 1 --why <reason>' },
    sentence: 'Not well: collections of the control database are lost: support.blocked_keys is gone',
  },
  {
    name: 'a collection of documents',
    state: active({
      structures: {
        ...lacking,
        faults: [],
        lost: [{ database: 'support_g1', collection: 'tickets', loss: 'gone' }],
      },
    }),
    finding: { name: 'lost', generation: 1, fix: 'npx support-cli rebuild start', isFinal: true },
    sentence: 'Not well: its documents are lost: support_g1.tickets is gone',
  },
])('the loss of $name is the verdict', ({ state: given, finding, sentence }) => {
  const all = evaluateRules(given);
  expect(all[0]).toMatchObject({ severity: 'bad', ...finding });
  expect(verdictOf(all, given).sentence.startsWith(sentence)).toBe(true);
});

test('the fix for a lost majority names members that are down and members that lag', () => {
  const [finding] = evaluateRules(facts([factsOf(1, 'active')], { noMajoritySince: before(60) }));
  expect(finding?.text).toMatch(/Start members that are down .* let members that lag catch up/);
});

test('a projector that ended before its first save counts as a projector that has run', () => {
  const projectors = [projector({ state: 'ended', reason: 'gone', at: before(40) })];
  const endedFacts = active({ savedAt: null, watermark: null, lagSeconds: null, projectors });
  expect(evaluateRules(endedFacts)[0]?.text).toMatch(/^its projectors ended at 2026-11-24T11:59:\S+: gone$/);
});

test('the loss of the watermark of a standby is not a loss of the served data', () => {
  const standbyFacts = facts([
    factsOf(1, 'active'),
    factsOf(2, 'standby', { ...lostWatermark, savedAt: before(1) }),
  ]);
  expect(verdictOf(evaluateRules(standbyFacts), standbyFacts).state).toBe('attention');
});

test('an index that only projectors need does not cause a 503', () => {
  const faults = [{ kind: 'conversation', index: 'pending', fault: 'missing' }] as const;
  const lackingFacts = active({ structures: { ...lacking, faults: [...faults] } });
  expect(evaluateRules(lackingFacts)).toMatchObject([{ name: 'structures', severity: 'attention' }]);
});

test('replicas and projectors are not reported as gone without a majority, because they cannot announce', () => {
  const outdatedFacts = facts([factsOf(1, 'active', { savedAt: before(60), lagSeconds: 60 })], {
    noMajoritySince: before(60),
    replicas: [],
  });
  const all = evaluateRules({ ...outdatedFacts, kafka: { ...outdatedFacts.kafka, members: new Map() } });
  expect(all.map(({ name }) => name)).toEqual(['majority', 'api', 'projectors', 'lag']);
  expect(withoutConsequences(all).map(({ name }) => name)).toEqual(['majority']);
});

test('a topic that the user may not see is not reported as gone', () => {
  const { kafka } = facts([]);
  for (const applied of [0, 1]) {
    const generation = factsOf(1, 'active', { partitions: [{ ...partitionFacts, topic: 'tags', applied }] });
    const found = evaluateRules(facts([generation], { kafka: { ...kafka, hidden: ['tags'] } }));
    expect(found.map(({ name, severity, text }) => [name, severity, text])).toEqual([
      [
        'hidden',
        'attention',
        expect.stringMatching(/may not see tags, or they do not exist: it needs Describe/),
      ],
    ]);
    expect(found[0]?.blocks).toEqual(['ready', 'promote', 'rollback']);
  }
});
