import type { OnStep } from '../../services/operations/deps.ts';
import { dropGeneration } from '../../services/operations/rebuild/drop.ts';
import { groupIdOf, RebuildRefused } from '../../shared/control/generations.ts';
import { activeAndReady, present, useRebuild } from './fixture.ts';
import { activeAndStandby, later, nothing, operatorsOf, standbyAndActive, stepsOf } from './operators.ts';

const rebuild = useRebuild();
const operators = operatorsOf(rebuild);

describe('a command on generations', () => {
  test.each([
    {
      name: 'promotion',
      verb: 'promote',
      before: activeAndReady,
      states: { 1: 'standby', 2: 'active' },
      stepCount: 3,
    },
    {
      name: 'rollback',
      verb: 'rollBack',
      before: standbyAndActive,
      states: { 1: 'active', 2: 'standby' },
      stepCount: 3,
    },
    {
      name: 'drop',
      verb: 'drop',
      before: activeAndStandby,
      states: { 1: 'active', 2: 'dropped' },
      stepCount: 7,
    },
  ] as const)(
    'a repeated $name finishes after a crash before any of its steps',
    async ({ verb, before, states, stepCount }) => {
      const run = operators[verb];
      await operators.storeGenerations(before());
      const steps = await stepsOf(run);
      expect(steps).toHaveLength(stepCount);
      for (const crashed of steps) {
        await operators.storeGenerations(before());
        const crash = run((step) => {
          if (step === crashed) throw new Error(`crashed before ${step}`);
        });
        await expect(crash).rejects.toThrow(`crashed before ${crashed}`);
        await operators.expectOneActive();
        await run(undefined, later);
        expect(await rebuild.states()).toEqual(states);
        await operators.expectOneActive();
      }
    },
  );

  test('a drop removes everything of its own generation only', async () => {
    await operators.storeGenerations(activeAndStandby());
    const groups = [1, 2].map((number) => groupIdOf(rebuild.config, number));
    const [topic = ''] = rebuild.topics;
    for (const groupId of groups)
      await rebuild.admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: '0' }] });
    expect(await operators.drop()).toBe('dropped');
    const remainingGroups = (await rebuild.admin.listGroups()).groups.map(({ groupId }) => groupId);
    expect(groups.filter((groupId) => remainingGroups.includes(groupId))).toEqual([groups[0]]);
    expect([await operators.countStored(1), await operators.countStored(2)]).toEqual([
      operators.completeCounts(),
      nothing,
    ]);
    expect(await operators.deadLetterIds()).toEqual(['1: 1', '9: 1']);
    expect(await operators.historyOf()).toEqual(['2 dropping by ann', '2 dropped by ann']);
  });

  test('a drop does not end while the coordinator of its group does not answer', async () => {
    await operators.storeGenerations(activeAndStandby());
    const describeGroups = () => Promise.reject(new Error('the coordinator is not available'));
    const drop = dropGeneration(rebuild.deps({ admin: { ...rebuild.admin, describeGroups } }), 2, {
      force: true,
      why: 'test',
      timeoutSeconds: 0,
    });
    await expect(drop).rejects.toThrow('the coordinator is not available');
    expect(await rebuild.states()).toEqual({ 1: 'active', 2: 'dropping' });
  });
});

/** Runs the command of a second operator to its end while the first waits before a step. Returns both outcomes. */
async function interleaved(
  step: string,
  first: (onStep: OnStep) => Promise<string>,
  second: () => Promise<string>,
): Promise<string[]> {
  const outcomeOf = (running: Promise<string>) =>
    running.catch((error: unknown) => {
      if (error instanceof RebuildRefused) return 'refused';
      throw error;
    });
  let secondOutcome = `${step} was not reached`;
  let hasRun = false;
  const firstOutcome = await outcomeOf(
    first(async (reached) => {
      // The first command may reach the step again. The second command runs once.
      if (reached !== step || hasRun) return;
      hasRun = true;
      secondOutcome = await outcomeOf(second());
    }),
  );
  return [firstOutcome, secondOutcome];
}

describe('two operators at the same time', () => {
  const second = {
    promote: () => operators.promote(undefined, later, 'bob@host'),
    rollBack: () => operators.rollBack(undefined, later, 'bob@host'),
    drop: () => operators.drop(undefined, later, 'bob@host'),
    compare: () => operators.compare(),
  };

  /** The outcomes and the history if the second operator acts before the switch, or after it. */
  const expected = {
    promote: {
      before: 'was-active, promoted; 1 standby by bob, 2 active by bob',
      after: 'promoted, was-active; 1 standby by ann, 2 active by ann',
    },
    // The first operator must not learn that generation 2 is served, or repeat the promotion.
    rollBack: {
      before: 'promoted, was-active; 1 standby by ann, 2 active by ann',
      after: 'refused, rolled-back; 1 standby by ann, 2 active by ann, 2 standby by bob, 1 active by bob',
    },
    drop: {
      before: 'refused, dropped; 2 dropping by bob, 2 dropped by bob',
      after: 'promoted, refused; 1 standby by ann, 2 active by ann',
    },
    // After the change of another operator the promotion repeats its checks.
    compare: {
      before: 'promoted, compared; 2 ready by bob, 1 standby by ann, 2 active by ann',
      after: 'promoted, compared; 1 standby by ann, 2 active by ann, 2 active by bob',
    },
  };

  test.each(['promote', 'rollBack', 'drop', 'compare'] as const)(
    'leave one active generation if one runs %s before a step of the promotion of the other',
    async (verb) => {
      for (const step of ['carry over', 'switch', 'wait for replicas']) {
        await operators.storeGenerations(activeAndReady());
        const outcomes = await interleaved(step, operators.promote, second[verb]);
        const outcomesAndHistory = [outcomes, await operators.historyOf()]
          .map((texts) => texts.join(', '))
          .join('; ');
        const { before, after } = expected[verb];
        expect({ step, outcomesAndHistory }).toEqual({
          step,
          outcomesAndHistory: step === 'wait for replicas' ? after : before,
        });
        await operators.expectOneActive();
      }
    },
  );

  /** Before these steps, a drop has not changed the registry. */
  const stepsBeforeDropBegins = ['wait for readers', 'begin'];

  test('leave no dead letter of a generation that one drops before a step of the promotion of the other', async () => {
    for (const step of ['carry over', 'switch']) {
      await operators.storeGenerations(activeAndReady());
      expect(await interleaved(step, operators.promote, second.drop)).toEqual(['refused', 'dropped']);
      expect({ step, deadLetters: await operators.deadLetterIds() }).toEqual({
        step,
        deadLetters: ['1: 1', '9: 1'],
      });
    }
  });

  test('drop a generation once if one repeats the drop before a step of the other', async () => {
    await operators.storeGenerations(activeAndReady());
    for (const step of await stepsOf(operators.drop)) {
      await operators.storeGenerations(activeAndReady());
      const drops = await interleaved(step, operators.drop, second.drop);
      const isBegun = !stepsBeforeDropBegins.includes(step);
      expect({ step, drops }).toEqual({ step, drops: [isBegun ? 'dropped' : 'was-dropped', 'dropped'] });
      expect([await operators.countStored(1), await operators.countStored(2)]).toEqual([
        operators.completeCounts(),
        nothing,
      ]);
      const by = isBegun ? 'ann' : 'bob';
      expect(await operators.historyOf()).toEqual([`2 dropping by ${by}`, '2 dropped by bob']);
    }
  });

  test('can promote a generation only before the drop of the other begins', async () => {
    await operators.storeGenerations(activeAndReady());
    for (const step of await stepsOf(operators.drop)) {
      const isBegun = !stepsBeforeDropBegins.includes(step);
      await operators.storeGenerations(activeAndReady());
      const outcomes = await interleaved(step, operators.drop, second.promote);
      expect({ step, outcomes }).toEqual({
        step,
        outcomes: isBegun ? ['dropped', 'refused'] : ['refused', 'promoted'],
      });
      await operators.expectOneActive();
    }
  });

  test('keep a standby that became active after the drop of the other read the registry', async () => {
    for (const force of [false, true]) {
      await operators.storeGenerations(activeAndStandby());
      const servedAgain = async () => {
        await operators.switching(2, 'rollback')(undefined, present, 'bob@host');
        return operators.rollBack(undefined, present, 'bob@host');
      };
      // Without --force, the command refuses a young standby. With --force, requests from before the rollback may still
      // read it.
      const outcomes = await interleaved(
        'begin',
        (onStep) => operators.drop(onStep, present, 'ann@host', force),
        servedAgain,
      );
      expect(outcomes).toEqual(['refused', 'rolled-back']);
      expect(await operators.countStored(2)).toEqual(operators.completeCounts());
      await operators.expectOneActive();
    }
  });
});
