import { release } from '../../../shared/runtime/release.ts';
import { restoredRegistry, type RemainingGeneration } from './restored-registry.ts';

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
test.each<[string, RemainingGeneration[], number, object]>([
  ['the only generation', [left(4)], 4, { 4: 'active' }],
  ['a build or standby beside it', [left(3), left(4), left(5)], 4, { 3: 'ready', 4: 'active', 5: 'ready' }],
  ['one without documents', [left(3, documentsGone), left(4)], 4, { 3: 'dropping', 4: 'active' }],
  ['one without progress', [left(3, progressGone), left(4)], 4, { 3: 'dropping', 4: 'active' }],
  ['a build in its first load', [left(4), left(5, firstLoad)], 4, { 4: 'active', 5: 'dropping' }],
])('restores %s', (_, remaining, active, states) => {
  const { generation, generations } = restore(remaining, active);
  expect(generation).toBe(active);
  expect(Object.fromEntries(generations.map(({ number, state }) => [number, state]))).toEqual(states);
});

/** The remains, the generation that was active, and why the restoration is refused. */
test.each<[string, RemainingGeneration[], number | undefined, RegExp]>([
  ['no choice', [left(3), left(4)], undefined, /with --active. Remains:\n {2}generation 3: documents and 10/],
  ['a generation without remains', [left(4)], 5, /with --active/],
  ['one without documents', [left(4, documentsGone)], 4, /4 cannot be active: its documents are gone/],
  ['one without progress', [left(4, progressGone)], 4, /4 cannot be active: its progress is gone/],
  ['one that was never complete', [left(4, firstLoad)], 4, /4 cannot be active: it was never complete/],
  [
    'another release',
    [left(4, { releases: ['0.9.0'] })],
    4,
    /filled by release 0.9.0.*--projection-version 4:/,
  ],
  ['an unknown release', [left(3, { releases: [] }), left(4)], 4, /filled by release unknown.*version 3:/],
])('refuses %s', (_, remaining, active, reason) => {
  expect(() => restore(remaining, active)).toThrow(reason);
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
