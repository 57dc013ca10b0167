import type { Switched } from '../../services/operations/rebuild/switch.ts';
import { failuresOf } from '../../shared/control/failures.ts';
import { projectionVersion } from '../../shared/control/generations.ts';
import { progressOf } from '../../shared/control/progress.ts';
import {
  activeAndReady,
  comparisonReport,
  secondsBefore,
  useRebuild,
  type Promotion,
  type Rebuild,
} from './fixture.ts';

/** A problem: how it comes about, the check that finds it, its message, and the option that accepts it. */
type Refusal = [
  title: string,
  arrange: (rebuild: Rebuild) => Promise<unknown>,
  check: string,
  says: string[],
  accept: Promotion | null,
];

const moveBack = ({ control, topics }: Rebuild) =>
  progressOf(control).updateOne({ _id: `1/${topics[0]}/0` }, { $set: { position: 8 } });
const dayAndHour = 25 * 3_600;

/** A comparison that the promotion does not accept. */
const invalidReport = (
  title: string,
  changes: Parameters<typeof comparisonReport>[0],
  says: string,
): Refusal => [
  title,
  ({ set }) => set(2, { report: comparisonReport(changes) }),
  'compared',
  [says, 'rebuild compare 2'],
  null,
];

const saysOfReject = [
  'it has 1 dead letter that the active generation does not have',
  '/0/5@0 (not_json: no JSON)',
  'fix the cause and re-drive them, or purge them',
];

const refusals: Refusal[] = [
  [
    'a partition that lags behind the active generation',
    moveBack,
    'offsets',
    ['this generation is at offset 0, the active one at 8', 'rebuild await 2'],
    { acceptOlder: true },
  ],
  [
    'a watermark older than that of the active generation',
    ({ setWatermark }) => setWatermark(2, secondsBefore(60)),
    'freshness',
    ['54 s older than that of the active generation', 'rebuild await 2'],
    { acceptOlder: true },
  ],
  [
    'no comparison',
    ({ set }) => set(2, { report: undefined as never }),
    'compared',
    ['generation 2 was not compared with the active one', 'rebuild compare 2'],
    null,
  ],
  invalidReport(
    'a comparison with another generation',
    { against: 9 },
    'it was made with generation 9, and 1 is active now',
  ),
  invalidReport(
    'a comparison of another projection version',
    { versions: { generation: 2, against: 1 } },
    'a projection version has changed since',
  ),
  invalidReport(
    'a comparison with an active generation of another projection version',
    { versions: { generation: projectionVersion, against: projectionVersion + 1 } },
    'a projection version has changed since',
  ),
  invalidReport(
    'a comparison that is older than a day',
    { at: secondsBefore(dayAndHour) },
    'it is older than a day',
  ),
  invalidReport(
    'differences in the comparison',
    { differing: 2, differences: 8 },
    'differences in 2 of 3 documents',
  ),
  [
    'a comparison from before Kafka deleted records',
    ({ set, topics }) =>
      set(2, { report: comparisonReport({ lows: [{ partition: `${topics[0]}/0`, low: -1 }] }) }),
    'compared',
    ['/0 now begins at another offset', 'rebuild compare 2'],
    null,
  ],
  [
    'a replica that cannot serve its projection version',
    ({ announceReplica }) => announceReplica({ versions: [projectionVersion + 1] }),
    'replicas',
    ['1 of 1 API replica cannot serve', 'process 41 on api-1', "deploy the API's new release first"],
    null,
  ],
  [
    'a lag longer than Kafka keeps tombstones',
    ({ set }) => set(2, { longestBehindSeconds: 7 * 24 * 3_600 }),
    'tombstones',
    ['had a lag of 168 hours', 'drops tombstones after 168 hours', 'rebuild drop 2'],
    null,
  ],
  [
    'a dead letter that the active generation lacks',
    ({ deadLetter }) => deadLetter(),
    'rejects',
    saysOfReject,
    null,
  ],
  [
    'such a dead letter that an operator has just re-driven without success',
    ({ deadLetter }) => deadLetter({ lastAt: secondsBefore(1), count: 2 }),
    'rejects',
    saysOfReject,
    null,
  ],
  [
    'a topic that was created again, because no projector can continue',
    ({ recreateTopic, topics: [topic = ''] }) => recreateTopic(2, topic),
    'projectors',
    ['deleted and created again since its records were applied', 'rebuild drop 2'],
    null,
  ],
  [
    'projectors that have ended for good',
    async ({ control }) => {
      const failure = {
        reason: 'tags/0: records are gone',
        isFinal: true,
        by: 'projector',
        at: secondsBefore(2),
      };
      await failuresOf(control).insertOne({ _id: 2, ...failure });
    },
    'projectors',
    ['ended at', 'tags/0: records are gone', 'rebuild drop 2'],
    null,
  ],
  [
    'projectors that have been silent for 31 seconds',
    ({ control }) =>
      progressOf(control).updateMany({ generation: 2 }, { $set: { updatedAt: secondsBefore(31) } }),
    'projectors',
    ['no projector has run since', 'GENERATION=2 npm run projector'],
    null,
  ],
  [
    'a projector of the active generation that a restart would move to the new one',
    ({ control }) => progressOf(control).updateMany({ generation: 1 }, { $set: { isPinned: false } }),
    'pinned',
    ['a projector of generation 1 runs without GENERATION=1', 'GENERATION=1 npm run projector'],
    null,
  ],
  [
    'a build that is not ready',
    ({ set }) => set(2, { state: 'catching-up' }),
    'state',
    ['it is catching-up', 'rebuild await 2'],
    null,
  ],
];

const rebuild = useRebuild();
const failed = ({ findings }: Switched) => findings.filter(({ isWaived }) => !isWaived);
const waived = ({ findings }: Switched) => findings.filter(({ isWaived }) => isWaived);

describe('a promotion is refused, and changes nothing, for', () => {
  beforeEach(() => rebuild.given(activeAndReady()));

  test('no reason if every condition holds', async () => {
    expect(failed(await rebuild.switchOnce(2))).toEqual([]);
    expect(await rebuild.states()).toEqual({ 1: 'standby', 2: 'active' });
  });

  test.each(refusals)('%s', async (_, arrange, check, says, accept) => {
    await arrange(rebuild);
    const before = await rebuild.everything();
    const refused = await rebuild.switchOnce(2);
    expect(refused.outcome).toBe('refused');
    expect(failed(refused).map(({ name }) => name)).toEqual([check]);
    for (const text of says)
      expect(`${failed(refused)[0]?.text}: ${failed(refused)[0]?.remedy}`).toContain(text);
    expect(await rebuild.everything()).toEqual(before);
    // and an option of the operator accepts it
    if (accept) {
      expect(failed(refused)[0]?.waiver).toBe('--accept-older');
      // and does not wait until the generation has caught up
      const switched = await rebuild.switchOnce(2, { ...accept, catchUpMs: Infinity });
      expect(switched.outcome).toBe('promoted');
      expect(waived(switched).map(({ name }) => name)).toEqual([check]);
    }
  });

  test('no partition that reaches the active generation while the command waits', async () => {
    await moveBack(rebuild);
    const [topic = ''] = rebuild.topics;
    const { log } = rebuild.deps();
    let reads = 0;
    const read = async (topics: string[]) => {
      if ((reads += 1) === 3)
        await progressOf(rebuild.control).updateOne({ _id: `2/${topic}/0` }, { $set: { position: 8 } });
      return log.read(topics);
    };
    const switched = await rebuild.switchOnce(2, { catchUpMs: Infinity }, { log: { ...log, read } });
    expect(switched).toMatchObject({ outcome: 'promoted', findings: [] });
  });

  test('no dead letter that both generations have, or that one of them may not have reached yet', async () => {
    await rebuild.deadLetter({ generations: [1, 2] });
    await rebuild.deadLetter({ _id: 'later', firstAt: secondsBefore(3), lastAt: secondsBefore(3) });
    expect(failed(await rebuild.switchOnce(2))).toEqual([]);
  });

  test('a dead letter stored after the projectors of the active generation stopped', async () => {
    // given an active generation whose projectors stopped before the rejection
    await progressOf(rebuild.control).updateMany(
      { generation: 1 },
      { $set: { updatedAt: secondsBefore(90) } },
    );
    await rebuild.setWatermark(1, secondsBefore(90));
    await rebuild.deadLetter({ firstAt: secondsBefore(60) });
    expect(failed(await rebuild.switchOnce(2)).map(({ name }) => name)).toEqual(['rejects']);
  });

  test('nothing if differences were waived; the checks and the history name them and the operator', async () => {
    const expectations = [{ kind: 'ticket', field: 'joined.tags' }];
    await rebuild.set(2, { report: comparisonReport({ expected: 8, expectations }) });
    const switched = await rebuild.switchOnce(2);
    const intended = '8 intended differences waived by bob@host (--expect ticket:joined.tags)';
    expect(switched.outcome).toBe('promoted');
    expect(waived(switched)).toMatchObject([
      { name: 'compared', text: expect.stringContaining(intended) as string },
    ]);
    expect((await rebuild.registry()).history.at(-1)?.why).toContain(intended);
  });

  test('nothing once it is active; replicas that wait for it then accept its older data with --accept-older', async () => {
    await rebuild.switchOnce(2);
    expect(await rebuild.switchOnce(2)).toMatchObject({ outcome: 'was-active' });
    expect((await rebuild.registry()).acceptOlder ?? false).toBe(false);
    expect(await rebuild.switchOnce(2, { acceptOlder: true })).toMatchObject({ outcome: 'was-active' });
    expect((await rebuild.registry()).acceptOlder).toBe(true);
  });

  test('nothing in a dry run, which makes the same checks and changes nothing', async () => {
    const before = await rebuild.everything();
    const dryRun = (number = 2) => rebuild.switchOnce(number, { dryRun: true });
    expect(await dryRun()).toMatchObject({ outcome: 'dry-run' });
    expect(await dryRun(1)).toMatchObject({ outcome: 'was-active' });
    expect(await rebuild.switchOnce(1, { dryRun: true, acceptOlder: true })).toMatchObject({
      outcome: 'was-active',
    });
    await rebuild.set(2, { report: comparisonReport({ differences: 1 }) });
    expect(failed(await dryRun()).map(({ name }) => name)).toEqual(['compared']);
    await rebuild.set(2, { report: comparisonReport() });
    expect(await rebuild.everything()).toEqual(before);
  });
});
