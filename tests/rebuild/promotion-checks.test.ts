import * as verbs from '../../services/cli/rebuild/verbs.ts';
import type { Switched } from '../../services/operations/rebuild/switch.ts';
import { progressOf } from '../../shared/control/progress.ts';
import {
  activeAndReady,
  comparisonReport,
  generation,
  secondsBefore,
  useRebuild,
  type Rebuild,
} from './fixture.ts';

/** A problem as the servers show it, and the rule that finds it; services/operations/findings.test.ts has the rules. */
const refusals: [title: string, arrange: (rebuild: Rebuild) => Promise<unknown>, rule: string][] = [
  [
    'a comparison from before Kafka deleted records',
    ({ set, topics }) =>
      set(2, { report: comparisonReport({ lows: [{ partition: `${topics[0]}/0`, low: -1 }] }) }),
    'compared',
  ],
  ['a dead letter that the active generation lacks', ({ deadLetter }) => deadLetter(), 'rejects'],
  [
    'such a dead letter that an operator has just re-driven without success',
    ({ deadLetter }) => deadLetter({ lastAt: secondsBefore(1), count: 2 }),
    'rejects',
  ],
  [
    'a topic that was created again',
    ({ recreateTopic, topics: [topic = ''] }) => recreateTopic(2, topic),
    'projectors',
  ],
  [
    'a projector of the active generation that a restart would move to the new one',
    ({ control }) => progressOf(control).updateMany({ generation: 1 }, { $set: { isPinned: false } }),
    'pinned',
  ],
  ['a build that is not ready', ({ set }) => set(2, { state: 'catching-up' }), 'state'],
];

const moveBack = ({ control, topics }: Rebuild) =>
  progressOf(control).updateOne({ _id: `1/${topics[0]}/0` }, { $set: { position: 8 } });
/** Problems that `--accept-older` accepts. */
const older: typeof refusals = [
  ['a partition that lags behind the active generation', moveBack, 'offsets'],
  [
    'a watermark older than that of the active generation',
    ({ setWatermark }) => setWatermark(2, secondsBefore(60)),
    'freshness',
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

  test.each([...refusals, ...older])('%s', async (_, arrange, rule) => {
    await arrange(rebuild);
    const before = await rebuild.everything();
    const refused = await rebuild.switchOnce(2);
    expect(refused.outcome).toBe('refused');
    expect(failed(refused).map(({ name }) => name)).toEqual([rule]);
    expect(await rebuild.everything()).toEqual(before);
  });

  test.each(older)('nothing with --accept-older, without a wait, for %s', async (_, arrange, rule) => {
    await arrange(rebuild);
    expect(failed(await rebuild.switchOnce(2))[0]?.waiver).toBe('--accept-older');
    const switched = await rebuild.switchOnce(2, { acceptOlder: true, timeoutSeconds: Infinity });
    expect(switched.outcome).toBe('promoted');
    expect(waived(switched).map(({ name }) => name)).toEqual([rule]);
  });

  test.each(older)('no longer, while the command waits, for %s', async (_, arrange) => {
    await arrange(rebuild);
    const [topic = ''] = rebuild.topics;
    const { log } = rebuild.deps();
    let reads = 0;
    const read = async (topics: string[]) => {
      if ((reads += 1) === 3) {
        await progressOf(rebuild.control).updateOne({ _id: `2/${topic}/0` }, { $set: { position: 8 } });
        await rebuild.setWatermark(2, secondsBefore(0));
      }
      return log.read(topics);
    };
    const reports: string[] = [];
    const changes = { log: { ...log, read }, report: (line: string) => void reports.push(line) };
    const switched = await rebuild.switchOnce(2, { timeoutSeconds: Infinity }, changes);
    expect(switched).toMatchObject({ outcome: 'promoted', findings: [] });
    expect(reports[0]).toMatch(/^waiting: /);
  });

  test.each(older)('%s and another reason, without a wait', async (_, arrange) => {
    await arrange(rebuild);
    await rebuild.set(2, { report: comparisonReport({ differences: 1 }) });
    const refused = await rebuild.switchOnce(2, { timeoutSeconds: Infinity });
    expect(failed(refused).map(({ name }) => name)).toContain('compared');
  });

  test('a lag that is longer than a single topic keeps tombstones', async () => {
    const { topics } = await rebuild.topicWith({ 'delete.retention.ms': String(2 * 3_600_000) });
    await rebuild.set(2, { longestBehindSeconds: 3 * 3_600 });
    const changes = { topics: [...rebuild.topics, ...topics] };
    const [check, ...others] = failed(await rebuild.switchOnce(2, {}, changes));
    expect([check?.name, others]).toEqual(['tombstones', []]);
    expect(check?.text).toContain(`${topics[0]} drops tombstones after 2 hours`);
  });

  test('a rollback for no missing comparison', async () => {
    await rebuild.given([generation(1, 'standby'), generation(2, 'active')]);
    expect(await rebuild.switchOnce(1, { step: 'rollback' })).toMatchObject({ outcome: 'rolled-back' });
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

  test('no unpinned projector of the active generation that has stopped', async () => {
    await progressOf(rebuild.control).updateMany(
      { generation: 1 },
      { $set: { isPinned: false, updatedAt: secondsBefore(31) } },
    );
    expect(failed(await rebuild.switchOnce(2))).toEqual([]);
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

test('the exit code of a promotion is 1 if it is refused, and while a replica serves another generation', async () => {
  await rebuild.given([generation(1, 'active'), generation(2, 'ready')]);
  const options = { generation: 2, timeout: 0, why: 'test' };
  const run = () => rebuild.runJson(verbs.switching('promote'), options);
  expect(await run()).toMatchObject({ exitCode: 1, output: { outcome: 'refused' } });
  await rebuild.given(activeAndReady());
  await rebuild.announceReplica();
  expect(await run()).toMatchObject({ exitCode: 1, output: { outcome: 'promoted', waiting: [{ pid: 41 }] } });
  const dryRun = await rebuild.runJson(verbs.switching('promote'), { ...options, dryRun: true });
  expect(dryRun).toMatchObject({ exitCode: 1, output: { outcome: 'was-active', waiting: [{ pid: 41 }] } });
  await rebuild.control.collection('replicas').updateOne({}, { $set: { generation: 2 } });
  expect(await run()).toMatchObject({ exitCode: 0, output: { outcome: 'was-active', waiting: [] } });
});
