import { facts, own, before, partitionFacts, type Changes } from '../../tests/support/facts.ts';
import type { Facts } from './facts.ts';
import { causes, findings, verdict } from './findings.ts';

const active = (changes: Changes) => facts([own(1, 'active', changes)]);
const updated = { kind: 'ticket', index: 'updated' } as const;
const lacking = {
  database: 'support_g1',
  faults: [
    { ...updated, is: 'missing' as const },
    ...['created', 'expiry'].map((index) => ({ kind: 'qa' as const, index, is: 'missing' as const })),
  ],
};
const lostWatermark = { isWatermarkLost: true, watermark: null, lagSeconds: null };

/** A loss, its finding with the remedy, and the verdict. */
test.each<[string, Facts, object, string]>([
  [
    'the registry',
    facts([], { registry: null, remains: [{ place: 'progress', generations: [3, 4] }] }),
    { name: 'registry', generation: null, remedy: 'npx support-cli rebuild restore-registry' },
    'Not well: the registry of generations is lost, but a read model is left: progress (generation 3, 4).',
  ],
  [
    'the watermark',
    active(lostWatermark),
    { name: 'watermark', generation: 1, remedy: 'GENERATION=1 npm run projector' },
    'Not well: its watermark is lost: a projector sets it again',
  ],
  [
    'a collection and an index',
    active({ structures: lacking }),
    { name: 'structures', generation: 1, remedy: 'GENERATION=1 npm run projector' },
    'Not well: its database support_g1 lacks tickets.updated, all indexes of qas, so the API answers 503',
  ],
  [
    'an index to an operator who has hidden it',
    active({ structures: { ...lacking, faults: [{ ...updated, is: 'hidden' }] }, lagSeconds: 40 }),
    {
      name: 'structures',
      remedy:
        "db.getSiblingDB('support_g1').runCommand({ collMod: 'tickets', index: { name: 'updated', hidden: false } })",
    },
    'Not well: indexes of its database support_g1 are hidden, so the API answers 503: tickets.updated (hidden)',
  ],
  [
    'the majority of stale data',
    facts([own(1, 'active', { lagSeconds: 40 })], { noMajoritySince: before(60) }),
    { name: 'majority', generation: null, remedy: null },
    "Not well: a majority of MongoDB's members has confirmed no write since 2026-11-24T11:59:00.000Z",
  ],
  [
    'the progress',
    active({ savedAt: null }),
    { name: 'projectors', generation: 1, remedy: 'npx support-cli rebuild start', isFinal: true },
    'Not well: its progress is lost, so no projector continues',
  ],
  [
    'the blocked keys of stale data',
    facts([own(1, 'active', { lagSeconds: 40 })], { hasBlocksMarker: false }),
    { name: 'blocked-keys', generation: null },
    'Not well: the collection blocked_keys is lost',
  ],
])('the loss of %s is the verdict', (_, given, finding, sentence) => {
  const all = findings(given);
  expect(all[0]).toMatchObject({ severity: 'bad', ...finding });
  expect(verdict(given, all).sentence.startsWith(sentence)).toBe(true);
});

test('the loss of the watermark of a standby is no loss of the served data', () => {
  const given = facts([own(1, 'active'), own(2, 'standby', { ...lostWatermark, savedAt: before(1) })]);
  expect(verdict(given, findings(given)).state).toBe('attention');
});

test('an index that only projectors need is no reason for a 503', () => {
  const faults = [{ kind: 'conversation', index: 'pending', is: 'missing' }] as const;
  const given = active({ structures: { database: 'support_g1', faults: [...faults] } });
  expect(findings(given)).toMatchObject([{ name: 'structures', severity: 'attention' }]);
});

test('without a majority neither replicas nor projectors can say that they run, so they are not said to be gone', () => {
  const given = facts([own(1, 'active', { savedAt: before(60), lagSeconds: 60 })], {
    noMajoritySince: before(60),
    replicas: [],
  });
  const all = findings({ ...given, kafka: { ...given.kafka, members: new Map() } });
  expect(all.map(({ name }) => name)).toEqual(['majority', 'api', 'projectors', 'lag']);
  expect(causes(all).map(({ name }) => name)).toEqual(['majority']);
});

test('a registry of an earlier release knows of no marker, so nothing is lost without one', () => {
  const given = active({});
  const registry = given.registry && { ...given.registry, hasBlocksMarker: false };
  expect(findings({ ...given, registry, hasBlocksMarker: false })).toEqual([]);
});

test('a topic that the user may not see is never said to be gone, whether or not its records were applied', () => {
  const { kafka } = facts([]);
  for (const applied of [0, 1]) {
    const generation = own(1, 'active', { partitions: [{ ...partitionFacts, topic: 'tags', applied }] });
    const found = findings(facts([generation], { kafka: { ...kafka, hidden: ['tags'] } }));
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
