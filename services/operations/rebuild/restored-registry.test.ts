import type { RebuildRefused } from '../../../shared/control/generations.ts';
import { release } from '../../../shared/runtime/release.ts';
import { type RemainingGeneration, restoredRegistry } from './restored-registry.ts';

const at = new Date('2026-11-24T12:00:00Z');
const completeTo = new Date('2026-11-24T11:59:55Z');
const cause = { at, by: 'ann@host', why: 'a wrong script' };

const left = (number: number, changes: Partial<RemainingGeneration> = {}): RemainingGeneration => ({
  number,
  hasDocuments: true,
  partitions: 10,
  completeTo,
  savedAt: at,
  releases: [release],
  ...changes,
});
const restore = (remaining: RemainingGeneration[], active?: number, versions: [number, number][] = []) =>
  restoredRegistry(remaining, [], { active, versions: new Map(versions) }, cause);

const documentsGone = { hasDocuments: false };
const progressGone = { partitions: 0, savedAt: null, releases: [] };
const firstLoad = { completeTo: new Date(0) };

/** The remains, the generation that was active, and the states of the restored registry. */
test.each<{ name: string; remaining: RemainingGeneration[]; active: number; states: object }>([
  { name: 'the only generation', remaining: [left(4)], active: 4, states: { 4: 'active' } },
  {
    name: 'a build or standby beside it',
    remaining: [left(3), left(4), left(5)],
    active: 4,
    states: { 3: 'ready', 4: 'active', 5: 'ready' },
  },
  {
    name: 'one without documents',
    remaining: [left(3, documentsGone), left(4)],
    active: 4,
    states: { 3: 'dropping', 4: 'active' },
  },
  {
    name: 'one without progress',
    remaining: [left(3, progressGone), left(4)],
    active: 4,
    states: { 3: 'dropping', 4: 'active' },
  },
  {
    name: 'a build in its first load',
    remaining: [left(4), left(5, firstLoad)],
    active: 4,
    states: { 4: 'active', 5: 'dropping' },
  },
])('restores $name', ({ remaining, active, states }) => {
  const { generation, generations } = restore(remaining, active);
  expect(generation).toBe(active);
  expect(Object.fromEntries(generations.map(({ number, state }) => [number, state]))).toEqual(states);
});

/** The remains, the generation that was active, and why the restoration is refused. */
test.each<{ name: string; remaining: RemainingGeneration[]; active: number | undefined; reason: RegExp }>([
  {
    name: 'no choice',
    remaining: [left(3), left(4)],
    active: undefined,
    reason: /with --active. Remains:\n {2}generation 3: documents and 10/,
  },
  { name: 'a generation without remains', remaining: [left(4)], active: 5, reason: /with --active/ },
  {
    name: 'one without documents',
    remaining: [left(4, documentsGone)],
    active: 4,
    reason: /4 cannot be active: its documents are gone/,
  },
  {
    name: 'one without progress',
    remaining: [left(4, progressGone)],
    active: 4,
    reason: /4 cannot be active: its progress is gone/,
  },
  {
    name: 'one that was never complete',
    remaining: [left(4, firstLoad)],
    active: 4,
    reason: /4 cannot be active: it was never complete/,
  },
  {
    name: 'another release',
    remaining: [left(4, { releases: ['0.9.0'] })],
    active: 4,
    reason: /filled by release 0.9.0.*--projection-version 4:/,
  },
  {
    name: 'an unknown release',
    remaining: [left(3, { releases: [] }), left(4)],
    active: 4,
    reason: /filled by release unknown.*version 3:/,
  },
])('refuses $name', ({ remaining, active, reason }) => {
  expect(() => restore(remaining, active)).toThrow(reason);
});

test('a refusal has one entry for the remains of each generation, whatever its release is called', () => {
  const remaining = [left(3, { releases: ['1.0\n  generation 7: documents'] }), left(4, documentsGone)];
  const details = () => {
    try {
      return restore(remaining, undefined);
    } catch (error) {
      return (error as RebuildRefused).details;
    }
  };
  expect(details()).toEqual([
    expect.stringMatching(
      /^ {2}generation 3: documents and 10 [^]* by release 1\.0\n {2}generation 7: documents$/,
    ),
    '  generation 4: its documents are gone',
  ]);
});

test('takes the projection version of another release from the operator', () => {
  const { generations } = restore([left(3, { releases: ['0.9.0'] }), left(4)], 4, [[3, 7]]);
  expect(generations.map(({ number, projectionVersion }) => [number, projectionVersion])).toEqual([
    [3, 7],
    [4, 1],
  ]);
});

test('uses no number twice, and keeps who restored it and why', () => {
  const choices = { active: 4, versions: new Map() };
  const { lastNumber, history } = restoredRegistry([left(4)], [2, 9], choices, cause);
  expect(lastNumber).toBe(9);
  expect(history).toEqual([
    {
      generation: 4,
      from: null,
      to: 'active',
      at,
      by: 'ann@host',
      why: 'the registry was lost: a wrong script',
    },
  ]);
});

test('lets the lag of a generation count from its watermark on', () => {
  expect(restore([left(4)], 4).generations[0]).toMatchObject({ startedAt: completeTo, since: at });
});
