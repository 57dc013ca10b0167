import * as verbs from '../../services/cli/rebuild/verbs.ts';
import { acceptFinding } from '../../services/operations/accept/accept.ts';
import type { SwitchResult } from '../../services/operations/rebuild/switch.ts';
import { addNote } from '../../services/operations/rebuild/transitions.ts';
import { activeGeneration } from '../../shared/control/generations.ts';
import { progressOf } from '../../shared/control/progress.ts';
import { changeRegistry } from '../../shared/control/registry.ts';
import { containing } from '../support/matchers.ts';
import {
  activeAndReady,
  comparisonReport,
  generation,
  present,
  secondsBefore,
  useRebuild,
} from './fixture.ts';

const rebuild = useRebuild();
/** Accepts that a generation has older data, without Kafka. */
const acceptOlder = (number: number, dryRun = false) =>
  acceptFinding(
    { ...rebuild.deps(), kafka: null },
    { finding: 'older', generation: number, why: 'test', dryRun },
  );
const failed = ({ findings }: SwitchResult) => findings.filter(({ isAccepted }) => !isAccepted);
const accepted = ({ findings }: SwitchResult) => findings.filter(({ isAccepted }) => isAccepted);
const names = (findings: SwitchResult['findings']) => findings.map(({ name }) => name);
const changeActiveProgress = (changes: object) =>
  progressOf(rebuild.control).updateMany({ generation: 1 }, { $set: changes });

describe('a promotion is refused, and changes nothing, for', () => {
  beforeEach(() => rebuild.given(activeAndReady()));

  /** A problem that the servers show, and the rule that finds it; findings.test.ts tests the rules. */
  test.each<[title: string, arrange: () => Promise<unknown>, rule: string]>([
    [
      'a dead letter that the active generation lacks, and that an operator has just re-driven without success',
      async () => {
        await rebuild.deadLetter();
        await rebuild.deadLetter({ at: secondsBefore(1) });
      },
      'rejects',
    ],
    [
      'a projector of the active generation that a restart would move to the new one',
      () => rebuild.announceProjector({ isPinned: false }),
      'pinned',
    ],
    ['a build that is not ready', () => rebuild.set(2, { state: 'catching-up' }), 'state'],
  ])('%s', async (_, arrange, rule) => {
    await arrange();
    const before = await rebuild.everything();
    const refused = await rebuild.switchOnce(2);
    expect({ outcome: refused.outcome, failed: names(failed(refused)) }).toEqual({
      outcome: 'refused',
      failed: [rule],
    });
    expect(await rebuild.everything()).toEqual(before);
  });

  /** Problems that an operator may accept. */
  describe.each<[title: string, arrange: () => Promise<unknown>, rule: string]>([
    [
      'a partition that lags behind the active generation',
      () =>
        progressOf(rebuild.control).updateOne(
          { _id: `1/${rebuild.topics[0]}/0` },
          { $set: { 'applied.position': 8 } },
        ),
      'offsets',
    ],
    [
      'a watermark older than that of the active generation',
      () => rebuild.setWatermark(2, secondsBefore(60)),
      'freshness',
    ],
  ])('%s', (_, arrange, rule) => {
    beforeEach(arrange);

    test('but not once it is accepted, and then without a wait', async () => {
      const before = await rebuild.everything();
      const refused = await rebuild.switchOnce(2);
      expect(failed(refused)).toMatchObject([
        { name: rule, acceptAs: 'older', accept: 'npx support-cli accept older 2 --why <reason>' },
      ]);
      expect(await rebuild.everything()).toEqual(before);
      expect(await acceptOlder(2, true)).toMatchObject({ dryRun: true });
      expect(await rebuild.everything()).toEqual(before);
      await acceptOlder(2);
      const switched = await rebuild.switchOnce(2, { timeoutSeconds: Infinity });
      expect({ outcome: switched.outcome, accepted: names(accepted(switched)) }).toEqual({
        outcome: 'promoted',
        accepted: [rule],
      });
    });

    test('but not if it ends while the command waits', async () => {
      const [topic = ''] = rebuild.topics;
      const { log } = rebuild.deps();
      let reads = 0;
      const read = async (topics: string[]) => {
        reads += 1;
        if (reads === 3) {
          await progressOf(rebuild.control).updateOne(
            { _id: `2/${topic}/0` },
            { $set: { 'applied.position': 8 } },
          );
          await rebuild.setWatermark(2, secondsBefore(0));
        }
        return log.read(topics);
      };
      const reports: string[] = [];
      const changes = { log: { ...log, read }, report: (line: string) => reports.push(line) };
      const switched = await rebuild.switchOnce(2, { timeoutSeconds: Infinity }, changes);
      expect(switched).toMatchObject({ outcome: 'promoted', findings: [] });
      expect(reports[0]).toMatch(/^waiting: /);
    });

    test('and another reason, without a wait', async () => {
      await rebuild.set(2, { report: comparisonReport({ differences: 1 }) });
      const refused = await rebuild.switchOnce(2, { timeoutSeconds: Infinity });
      expect(names(failed(refused))).toContain('compared');
    });
  });

  test('no dead letter that both generations have, or that one of them may not have reached yet', async () => {
    await rebuild.deadLetter({ generations: [1, 2] });
    await rebuild.deadLetter({ offset: 6, at: secondsBefore(8) });
    for (const [number, other] of [
      [1, 2],
      [2, 1],
    ] as const) {
      await rebuild.setWatermark(number, secondsBefore(9));
      await rebuild.setWatermark(other, secondsBefore(7));
      expect(failed(await rebuild.switchOnce(2, { dryRun: true }))).toEqual([]);
    }
  });

  test('a dead letter stored after the projectors of the active generation stopped', async () => {
    // given an active generation whose projectors stopped before the rejection
    await changeActiveProgress({ updatedAt: secondsBefore(90) });
    await rebuild.setWatermark(1, secondsBefore(90));
    await rebuild.deadLetter({ at: secondsBefore(60) });
    expect(names(failed(await rebuild.switchOnce(2)))).toEqual(['rejects']);
  });

  test('no unpinned projector of the active generation that has stopped', async () => {
    await rebuild.announceProjector({ isPinned: false, at: secondsBefore(11) });
    await rebuild.announceProjector({ _id: 'stopped', isPinned: false, state: 'ended' });
    expect(failed(await rebuild.switchOnce(2))).toEqual([]);
  });

  test('nothing if differences were accepted, which the checks and the history name with the operator', async () => {
    const expectations = [{ kind: 'ticket', field: 'joined.tags' }];
    await rebuild.set(2, { report: comparisonReport({ expected: 8, expectations }) });
    const switched = await rebuild.switchOnce(2);
    const intended = '8 intended differences accepted by bob@host (--expect ticket:joined.tags)';
    expect(switched.outcome).toBe('promoted');
    expect(accepted(switched)).toMatchObject([{ name: 'compared', text: containing(intended) }]);
    expect((await rebuild.registry()).history.at(-1)?.why).toContain(intended);
  });

  test('no second round of checks because of a note in the history', async () => {
    const steps: string[] = [];
    const onStep = async (step: string) => {
      steps.push(step);
      if (step !== 'switch' || steps.length > 10) return;
      const cause = { by: 'bob@host', at: present, why: 'refreshed' };
      await changeRegistry(rebuild.control, addNote(1, cause));
    };
    expect(await rebuild.switchOnce(2, {}, { onStep })).toMatchObject({ outcome: 'promoted' });
    expect(steps).toEqual(['carry over', 'switch', 'wait for replicas']);
    const [noted, ...transitions] = (await rebuild.registry()).history.slice(-3);
    expect([noted?.why, ...transitions.map(({ to }) => to)]).toEqual(['refreshed', 'standby', 'active']);
  });

  test('nothing once it is active', async () => {
    await rebuild.switchOnce(2);
    expect(await rebuild.switchOnce(2)).toMatchObject({ outcome: 'was-active' });
  });

  test('nothing in a dry run, which makes the same checks and changes nothing', async () => {
    const before = await rebuild.everything();
    const dryRun = (number = 2) => rebuild.switchOnce(number, { dryRun: true });
    expect(await dryRun()).toMatchObject({ outcome: 'dry-run' });
    expect(await dryRun(1)).toMatchObject({ outcome: 'was-active' });
    await rebuild.set(2, { report: comparisonReport({ differences: 1 }) });
    expect(names(failed(await dryRun()))).toEqual(['compared']);
    await rebuild.set(2, { report: comparisonReport() });
    expect(await rebuild.everything()).toEqual(before);
  });
});

test("an operator can accept a generation's older data once it is active and a replica waits", async () => {
  await rebuild.given(activeAndReady());
  await rebuild.switchOnce(2);
  await expect(acceptOlder(2)).rejects.toThrow('generation 2 has nothing to accept as "older"');
  expect(await activeGeneration(rebuild.control)).toMatchObject({ acceptOlder: false });
  await rebuild.announceReplica();
  await acceptOlder(2);
  expect(await activeGeneration(rebuild.control)).toMatchObject({ acceptOlder: true });
});

test('the exit code of a promotion is 1 if it is refused, and while a replica serves another generation', async () => {
  await rebuild.given([generation(1, 'active'), generation(2, 'ready')]);
  const options = { generation: 2, timeout: 0, why: 'test' };
  const run = () => rebuild.runJson(verbs.createSwitchVerb('promote'), options);
  expect(await run()).toMatchObject({ exitCode: 1, output: { outcome: 'refused' } });
  await rebuild.given(activeAndReady());
  await rebuild.announceReplica();
  expect(await run()).toMatchObject({ exitCode: 1, output: { outcome: 'promoted', waiting: [{ pid: 41 }] } });
  const dryRun = await rebuild.runJson(verbs.createSwitchVerb('promote'), { ...options, dryRun: true });
  expect(dryRun).toMatchObject({ exitCode: 1, output: { outcome: 'was-active', waiting: [{ pid: 41 }] } });
  await rebuild.control.collection('processes').updateOne({}, { $set: { generation: 2 } });
  expect(await run()).toMatchObject({ exitCode: 0, output: { outcome: 'was-active', waiting: [] } });
});
