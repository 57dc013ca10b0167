import { groupIdOf } from '../../shared/control/generations.ts';
import { activeAndReady, useRebuild } from './fixture.ts';
import { activeAndStandby, later, nothing, operatorsOf, standbyAndActive, stepsOf } from './operators.ts';

const rebuild = useRebuild();
const on = operatorsOf(rebuild);

describe('a repeated command finishes after a crash before any step of', () => {
  test.each([
    {
      verb: 'a promotion',
      before: activeAndReady,
      run: 'promote' as const,
      states: { 1: 'standby', 2: 'active' },
      steps: 3,
    },
    {
      verb: 'a rollback',
      before: standbyAndActive,
      run: 'rollBack' as const,
      states: { 1: 'active', 2: 'standby' },
      steps: 3,
    },
    {
      verb: 'a drop',
      before: activeAndStandby,
      run: 'drop' as const,
      states: { 1: 'active', 2: 'dropped' },
      steps: 7,
    },
  ])('$verb', async ({ before, run: verb, states, steps: count }) => {
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
      await on.expectLivable();
      await run(undefined, later);
      expect(await rebuild.states()).toEqual(states);
      await on.expectLivable();
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
    expect([await on.remains(1), await on.remains(2)]).toEqual([on.everythingOf(), nothing]);
    expect(await on.deadLetterIds()).toEqual(['of 1: 1', 'of both: 1']);
    expect(await on.historyOf()).toEqual(['2 dropping by ann', '2 dropped by ann']);
  });
});
