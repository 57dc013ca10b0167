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
/** Accepts that generation 2 has older data, without Kafka. */
const acceptOlder = ({ dryRun = false } = {}) =>
  acceptFinding({ ...rebuild.deps(), kafka: null }, { finding: 'older', generation: 2, why: 'test', dryRun });
const failed = ({ findings }: SwitchResult) => findings.filter(({ isAccepted }) => !isAccepted);
const accepted = ({ findings }: SwitchResult) => findings.filter(({ isAccepted }) => isAccepted);
const names = (findings: SwitchResult['findings']) => findings.map(({ name }) => name);
const changeActiveProgress = (changes: object) =>
  progressOf(rebuild.control).updateMany({ generation: 1 }, { $set: changes });

describe('a promotion', () => {
  beforeEach(() => rebuild.storeGenerations(activeAndReady()));

  /** Each has a problem in the control database, and the rule that finds it. findings.test.ts tests the rules. */
  test.each<[problem: string, arrange: () => Promise<unknown>, rule: string]>([
    [
      'a dead letter that the active generation lacks, and that an operator has just redriven without success',
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
    ['a build that is not ready', () => rebuild.changeGeneration(2, { state: 'catching-up' }), 'state'],
  ])('is refused without a change for %s', async (_, arrange, rule) => {
    await arrange();
    const before = await rebuild.controlDocuments();
    const refused = await rebuild.switchOnce(2);
    expect({ outcome: refused.outcome, failed: names(failed(refused)) }).toEqual({
      outcome: 'refused',
      failed: [rule],
    });
    expect(await rebuild.controlDocuments()).toEqual(before);
  });

  /** Each has a problem that an operator may accept. */
  describe.each<[problem: string, arrange: () => Promise<unknown>, rule: string]>([
    [
      'a generation with a partition that lags behind the active generation',
      () =>
        progressOf(rebuild.control).updateOne(
          { _id: `1/${rebuild.topics[0]}/0` },
          { $set: { 'applied.position': 8 } },
        ),
      'offsets',
    ],
    [
      'a generation whose watermark is older than that of the active generation',
      () => rebuild.setWatermark(2, secondsBefore(60)),
      'freshness',
    ],
  ])('of %s', (_, arrange, rule) => {
    beforeEach(arrange);

    test('is refused until an operator accepts the older data', async () => {
      const before = await rebuild.controlDocuments();
      const refused = await rebuild.switchOnce(2);
      expect(failed(refused)).toMatchObject([
        { name: rule, acceptAs: 'older', accept: 'npx support-cli accept older 2 --why <reason>' },
      ]);
      expect(await rebuild.controlDocuments()).toEqual(before);
      expect(await acceptOlder({ dryRun: true })).toMatchObject({ dryRun: true });
      expect(await rebuild.controlDocuments()).toEqual(before);
      await acceptOlder();
      const switched = await rebuild.switchOnce(2, { timeoutSeconds: Infinity });
      expect({ outcome: switched.outcome, accepted: names(accepted(switched)) }).toEqual({
        outcome: 'promoted',
        accepted: [rule],
      });
    });

    test('succeeds once the generation has caught up', async () => {
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

    test('is refused without a wait for a problem that no wait can solve', async () => {
      await rebuild.changeGeneration(2, { report: comparisonReport({ differences: 1 }) });
      const refused = await rebuild.switchOnce(2, { timeoutSeconds: Infinity });
      expect(names(failed(refused))).toContain('compared');
    });
  });

  test('succeeds with a dead letter that both generations have', async () => {
    await rebuild.deadLetter({ generations: [1, 2] });
    expect(failed(await rebuild.switchOnce(2, { dryRun: true }))).toEqual([]);
  });

  test('succeeds with a dead letter of a record that one generation may not have reached yet', async () => {
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

  test('is refused for a dead letter from after the end of the projectors of the active generation', async () => {
    await changeActiveProgress({ updatedAt: secondsBefore(90) });
    await rebuild.setWatermark(1, secondsBefore(90));
    await rebuild.deadLetter({ at: secondsBefore(60) });
    expect(names(failed(await rebuild.switchOnce(2)))).toEqual(['rejects']);
  });

  test('succeeds with an unpinned projector of the active generation that has stopped', async () => {
    await rebuild.announceProjector({ isPinned: false, at: secondsBefore(11) });
    await rebuild.announceProjector({ _id: 'stopped', isPinned: false, state: 'ended' });
    expect(failed(await rebuild.switchOnce(2))).toEqual([]);
  });

  test('names accepted differences and their operator in its checks and in the history', async () => {
    const expectations = [{ kind: 'ticket', field: 'joined.tags' }];
    await rebuild.changeGeneration(2, { report: comparisonReport({ expected: 8, expectations }) });
    const switched = await rebuild.switchOnce(2);
    const intended = '8 intended differences accepted by bob@host (--expect ticket:joined.tags)';
    expect(switched.outcome).toBe('promoted');
    expect(accepted(switched)).toMatchObject([{ name: 'compared', text: containing(intended) }]);
    expect((await rebuild.registry()).history.at(-1)?.why).toContain(intended);
  });

  test('does not repeat its checks because of a note in the history', async () => {
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

  test('of the active generation succeeds without a change', async () => {
    await rebuild.switchOnce(2);
    expect(await rebuild.switchOnce(2)).toMatchObject({ outcome: 'was-active' });
  });

  test('changes nothing in a dry run, which makes the same checks', async () => {
    const before = await rebuild.controlDocuments();
    const dryRun = (number = 2) => rebuild.switchOnce(number, { dryRun: true });
    expect(await dryRun()).toMatchObject({ outcome: 'dry-run' });
    expect(await dryRun(1)).toMatchObject({ outcome: 'was-active' });
    await rebuild.changeGeneration(2, { report: comparisonReport({ differences: 1 }) });
    expect(names(failed(await dryRun()))).toEqual(['compared']);
    await rebuild.changeGeneration(2, { report: comparisonReport() });
    expect(await rebuild.controlDocuments()).toEqual(before);
  });
});

test('an operator can accept older data of the active generation while a replica waits for newer data', async () => {
  await rebuild.storeGenerations(activeAndReady());
  await rebuild.switchOnce(2);
  await expect(acceptOlder()).rejects.toThrow('generation 2 has nothing to accept as "older"');
  expect(await activeGeneration(rebuild.control)).toMatchObject({ acceptOlder: false });
  await rebuild.announceReplica();
  await acceptOlder();
  expect(await activeGeneration(rebuild.control)).toMatchObject({ acceptOlder: true });
});

const promoteOptions = { generation: 2, timeout: 0, why: 'test' };
const promote = () => rebuild.runJson(verbs.printPromotion, promoteOptions);

test('`rebuild promote` exits with code 1 if the promotion is refused', async () => {
  await rebuild.storeGenerations([generation(1, 'active'), generation(2, 'ready')]);
  expect(await promote()).toMatchObject({ exitCode: 1, output: { outcome: 'refused' } });
});

test('`rebuild promote` exits with code 1 while a replica serves another generation', async () => {
  await rebuild.storeGenerations(activeAndReady());
  await rebuild.announceReplica();
  expect(await promote()).toMatchObject({
    exitCode: 1,
    output: { outcome: 'promoted', waiting: [{ pid: 41 }] },
  });
  const dryRun = await rebuild.runJson(verbs.printPromotion, { ...promoteOptions, dryRun: true });
  expect(dryRun).toMatchObject({ exitCode: 1, output: { outcome: 'was-active', waiting: [{ pid: 41 }] } });
  await rebuild.control.collection('processes').updateOne({}, { $set: { generation: 2 } });
  expect(await promote()).toMatchObject({ exitCode: 0, output: { outcome: 'was-active', waiting: [] } });
});
