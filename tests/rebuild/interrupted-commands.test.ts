import type { OnStep } from '../../services/operations/deps.ts';
import { dropGeneration } from '../../services/operations/rebuild/drop.ts';
import { groupIdOf, RebuildRefused } from '../../shared/control/generations.ts';
import { activeAndReady, present, useRebuild } from './fixture.ts';
import { activeAndStandby, later, nothing, operatorsOf, standbyAndActive, stepsOf } from './operators.ts';

const rebuild = useRebuild();
const on = operatorsOf(rebuild);

describe('a repeated command finishes after a crash before any step of', () => {
  test.each([
    {
      name: 'a promotion',
      verb: 'promote',
      before: activeAndReady,
      states: { 1: 'standby', 2: 'active' },
      count: 3,
    },
    {
      name: 'a rollback',
      verb: 'rollBack',
      before: standbyAndActive,
      states: { 1: 'active', 2: 'standby' },
      count: 3,
    },
    {
      name: 'a drop',
      verb: 'drop',
      before: activeAndStandby,
      states: { 1: 'active', 2: 'dropped' },
      count: 7,
    },
  ] as const)('$name', async ({ verb, before, states, count }) => {
    const run = on[verb];
    await on.given(before());
    const steps = await stepsOf(run);
    expect(steps).toHaveLength(count);
    for (const crashed of steps) {
      await on.given(before());
      const crash = run((step) => {
        if (step === crashed) throw new Error(`crashed before ${step}`);
      });
      await expect(crash).rejects.toThrow(`crashed before ${crashed}`);
      await on.expectOneActive();
      await run(undefined, later);
      expect(await rebuild.states()).toEqual(states);
      await on.expectOneActive();
    }
  });

  test('a drop removes everything of its generation, and nothing of the other', async () => {
    await on.given(activeAndStandby());
    const groups = [1, 2].map((number) => groupIdOf(rebuild.config, number));
    const [topic = ''] = rebuild.topics;
    for (const groupId of groups)
      await rebuild.admin.setOffsets({ groupId, topic, partitions: [{ partition: 0, offset: '0' }] });
    expect(await on.drop()).toBe('dropped');
    const left = (await rebuild.admin.listGroups()).groups.map(({ groupId }) => groupId);
    expect(groups.filter((groupId) => left.includes(groupId))).toEqual([groups[0]]);
    expect([await on.stored(1), await on.stored(2)]).toEqual([on.everythingOf(), nothing]);
    expect(await on.deadLetterIds()).toEqual(['1: 1', '9: 1']);
    expect(await on.historyOf()).toEqual(['2 dropping by ann', '2 dropped by ann']);
  });

  test('a drop does not end while the coordinator of its group does not answer', async () => {
    await on.given(activeAndStandby());
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

describe('two operators at once leave one active generation and a true history:', () => {
  const second = {
    promote: () => on.promote(undefined, later, 'bob@host'),
    drop: () => on.drop(undefined, later, 'bob@host'),
    compare: () => on.compare(),
  };

  /** The outcomes and the history if the second operator acts before the switch, or after it. */
  const expected = {
    promote: {
      before: 'was-active, promoted; 1 standby by bob, 2 active by bob',
      after: 'promoted, was-active; 1 standby by ann, 2 active by ann',
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

  test.each(['promote', 'drop', 'compare'] as const)(
    '%s, while a promotion is before a step',
    async (verb) => {
      for (const step of ['carry over', 'switch', 'wait for replicas']) {
        await on.given(activeAndReady());
        const outcomes = await interleaved(step, on.promote, second[verb]);
        const found = [outcomes, await on.historyOf()].map((texts) => texts.join(', ')).join('; ');
        const { before, after } = expected[verb];
        expect({ step, found }).toEqual({ step, found: step === 'wait for replicas' ? after : before });
        await on.expectOneActive();
      }
    },
  );

  test('a drop, and another drop or a promotion, at each step', async () => {
    await on.given(activeAndReady());
    for (const step of await stepsOf(on.drop)) {
      await on.given(activeAndReady());
      const drops = await interleaved(step, on.drop, second.drop);
      const isBegun = step !== 'wait for readers' && step !== 'begin';
      expect({ step, drops }).toEqual({ step, drops: [isBegun ? 'dropped' : 'was-dropped', 'dropped'] });
      expect([await on.stored(1), await on.stored(2)]).toEqual([on.everythingOf(), nothing]);
      const by = isBegun ? 'ann' : 'bob';
      expect(await on.historyOf()).toEqual([`2 dropping by ${by}`, '2 dropped by bob']);
      // and a promotion succeeds only before the drop begins
      await on.given(activeAndReady());
      const outcomes = await interleaved(step, on.drop, second.promote);
      expect({ step, outcomes }).toEqual({
        step,
        outcomes: isBegun ? ['dropped', 'refused'] : ['refused', 'promoted'],
      });
      await on.expectOneActive();
    }
  });

  test('a drop of a standby that was active again since the drop read the registry', async () => {
    for (const force of [false, true]) {
      await on.given(activeAndStandby());
      const servedAgain = async () => {
        await on.switching(2, 'rollback')(undefined, present, 'bob@host');
        return on.rollBack(undefined, present, 'bob@host');
      };
      // Without --force, the command refuses a young standby. With --force, requests from before the rollback may still
      // read it.
      const outcomes = await interleaved(
        'begin',
        (onStep) => on.drop(onStep, present, 'ann@host', force),
        servedAgain,
      );
      expect(outcomes).toEqual(['refused', 'rolled-back']);
      expect(await on.stored(2)).toEqual(on.everythingOf());
      await on.expectOneActive();
    }
  });
});
