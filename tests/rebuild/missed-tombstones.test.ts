import type { Switched } from '../../services/operations/rebuild/switch.ts';
import { activeAndReady, generation, secondsBefore, useRebuild } from './fixture.ts';

const rebuild = useRebuild();
const failed = ({ findings }: Switched) => findings.filter(({ isWaived }) => !isWaived);
/** `rebuild rollback` needs no comparison, and accepts dead letters. */
const rollback = { step: 'rollback' as const };

describe('a generation that may have missed tombstones is refused', () => {
  beforeEach(() => rebuild.given(activeAndReady()));

  test('as the target of a rollback', async () => {
    const standby = generation(1, 'standby', { longestBehindSeconds: 8 * 24 * 3_600 });
    await rebuild.given([standby, generation(2, 'active')]);
    const before = await rebuild.everything();
    const refused = await rebuild.switchOnce(1, rollback);
    expect(failed(refused).map(({ name }) => name)).toEqual(['tombstones']);
    expect(await rebuild.everything()).toEqual(before);
    // and a standby with a shorter lag is served again, without a comparison
    await rebuild.set(1, { longestBehindSeconds: 6 * 24 * 3_600 });
    expect(await rebuild.switchOnce(1, rollback)).toMatchObject({ outcome: 'promoted' });
  });

  test.each([
    { states: ['standby', 'active'] as const, number: 1 },
    { states: ['active', 'ready'] as const, number: 2 },
  ])(
    'as $number of a $states.0 and a $states.1 generation, if its lag is longer than 7 days, with every option',
    async ({ states: [one, two], number }) => {
      await rebuild.given([generation(1, one), generation(2, two)]);
      await rebuild.setWatermark(number, secondsBefore(8 * 24 * 3_600));
      const [check, ...others] = failed(await rebuild.switchOnce(number, { ...rollback, acceptOlder: true }));
      expect([check?.name, others]).toEqual(['tombstones', []]);
      expect(check?.text).toContain('had a lag of 192 hours');
    },
  );

  test('if its lag is longer than a single topic keeps tombstones', async () => {
    const { topics } = await rebuild.topicWith({
      'cleanup.policy': 'compact',
      'delete.retention.ms': String(2 * 3_600_000),
    });
    await rebuild.set(2, { longestBehindSeconds: 3 * 3_600 });
    const changes = { topics: [...rebuild.topics, ...topics] };
    const [check, ...others] = failed(await rebuild.switchOnce(2, {}, changes));
    expect([check?.name, others]).toEqual(['tombstones', []]);
    expect(check?.text).toContain(`${topics[0]} drops tombstones after 2 hours`);
  });
});
