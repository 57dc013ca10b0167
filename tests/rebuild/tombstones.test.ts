import { untilLed } from '../../services/operations/topics/create-topics.ts';
import type { SwitchOptions } from '../../services/operations/rebuild/checks.ts';
import { switchTo, type Switched } from '../../services/operations/rebuild/switch.ts';
import { watermarksOf } from '../../shared/store/progress.ts';
import { activeAndReady, generation, openRebuild, secondsBefore, type Rebuild } from './fixture.ts';

const watermarkOf = ({ control }: Rebuild, number: number, completeTo: Date) =>
  watermarksOf(control).updateOne({ _id: number }, { $set: { completeTo } });

describe('a generation that may have missed tombstones is refused', () => {
  let rebuild: Rebuild;
  const promote = (options: Partial<SwitchOptions>, number: number): Promise<Switched> =>
    switchTo(rebuild.deps(), number, {
      ...{ acceptOlder: false, allowRejects: false, needsReport: true, ...options },
      ...{ why: 'test', dryRun: false, timeoutSeconds: 0 },
    });
  const failed = ({ checks }: Switched) => checks.filter(({ isMet }) => !isMet);

  beforeAll(async () => {
    rebuild = await openRebuild();
  }, 60_000);
  beforeEach(() => rebuild.given(activeAndReady()), 60_000);
  afterAll(() => rebuild.close(), 60_000);

  test('as the target of a rollback', async () => {
    const standby = generation(1, 'standby', { longestBehindSeconds: 8 * 24 * 3_600 });
    await rebuild.given([standby, generation(2, 'active')]);
    const before = await rebuild.everything();
    const refused = await promote({ needsReport: false, allowRejects: true }, 1);
    expect(failed(refused).map(({ name }) => name)).toEqual(['tombstones']);
    expect(await rebuild.everything()).toEqual(before);
    // given one that may not, it is served again without a report
    await rebuild.set(1, { longestBehindSeconds: 6 * 24 * 3_600 });
    expect(await promote({ needsReport: false, allowRejects: true }, 1)).toMatchObject({
      outcome: 'promoted',
    });
  }, 60_000);

  test.each([
    { states: ['standby', 'active'] as const, number: 1 },
    { states: ['active', 'ready'] as const, number: 2 },
  ])(
    'as $number of a $states.0 and a $states.1 generation, if its lag is longer than 7 days, with every option',
    async ({ states: [one, two], number }) => {
      await rebuild.given([generation(1, one), generation(2, two)]);
      await watermarkOf(rebuild, number, secondsBefore(8 * 24 * 3_600));
      const options = { needsReport: false, allowRejects: true, acceptOlder: true };
      const [check, ...others] = failed(await promote(options, number));
      expect([check?.name, others]).toEqual(['tombstones', []]);
      expect(check?.detail).toContain('had a lag of 192 hours');
    },
    60_000,
  );

  test('if its lag is longer than one of the topics keeps tombstones', async () => {
    const topic = `${rebuild.config.TOPIC_PREFIX}brief`;
    const configEntries = [
      { name: 'cleanup.policy', value: 'compact' },
      { name: 'delete.retention.ms', value: String(2 * 3_600_000) },
    ];
    await rebuild.admin.createTopics({
      topics: [{ topic, numPartitions: 1, configEntries }],
      waitForLeaders: false,
    });
    await untilLed(rebuild.admin, [topic]);
    await rebuild.set(2, { longestBehindSeconds: 3 * 3_600 });
    const deps = rebuild.deps({ topics: [...rebuild.topics, topic] });
    const options = { acceptOlder: false, allowRejects: false, needsReport: true };
    const dry = { ...options, why: 'test', dryRun: true, timeoutSeconds: 0 };
    const [check, ...others] = failed(await switchTo(deps, 2, dry));
    expect([check?.name, others]).toEqual(['tombstones', []]);
    expect(check?.detail).toContain(`${topic} drops tombstones after 2 hours`);
  }, 60_000);
});
