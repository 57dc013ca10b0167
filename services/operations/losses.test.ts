import { facts, own, before, type Changes } from './facts-for-tests.ts';
import type { Facts } from './facts.ts';
import { findings, verdict } from './findings.ts';

const active = (changes: Changes) => facts([own(1, 'active', changes)]);
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

test('a registry of an earlier release knows of no marker, so nothing is lost without one', () => {
  const given = active({});
  const registry = given.registry && { ...given.registry, hasBlocksMarker: false };
  expect(findings({ ...given, registry, hasBlocksMarker: false })).toEqual([]);
});
