import { progressOf } from '../../shared/control/progress.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { useProjector } from '../support/use-projector.ts';

describe('a projector with committed offsets', () => {
  const { environment, topic, publish, applied, find, committed, start } = useProjector({
    each: true,
    projectors: 0,
  });

  test('commits and saves all applied records when it stops', async () => {
    // The commit loop of the projector runs only at its start.
    const projector = await start({ commitIntervalMs: 3_600_000 });
    await publish(created('tag', 'tag_1'), created('tag', 'tag_2'));
    await eventually(async () => (await environment.database.collection('tags').countDocuments()) === 2);
    await projector.stop();
    expect(await committed('tag')).toBe(2);
    expect(await progressOf(environment.control).findOne({ topic: topic('tag') })).toMatchObject({
      applied: { position: 2 },
    });
  });

  test('continues from its saved position although another client resets its offsets', async () => {
    await publish(created('tag', 'tag_1'));
    const first = await start();
    await applied();
    await first.stop();
    await publish(created('tag', 'tag_2'), created('tag', 'tag_3'));
    // As `kafka-consumer-groups --reset-offsets --to-offset` does, and a consumer with this group's id that commits.
    const partitions = [{ partition: 0, offset: '9' }];
    const groupId = environment.config.CONSUMER_GROUP;
    await environment.admin.setOffsets({ groupId, topic: topic('tag'), partitions });
    const projector = await start();
    await applied();
    expect([await find('tag', 'tag_2'), await find('tag', 'tag_3')]).not.toContain(null);
    await eventually(async () => (await committed('tag')) === 3);
    const counts = (await projector.metrics.foreignCommits.get()).values.filter(({ value }) => value > 0);
    expect(counts).toMatchObject([{ labels: { topic: topic('tag') }, value: 1 }]);
  });
});
