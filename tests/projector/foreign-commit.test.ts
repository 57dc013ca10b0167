import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { useProjector } from '../support/use-projector.ts';

describe('a group that another client has reset to the end of the log', () => {
  const { environment, topic, publish, applied, find, committed, start, stop } = useProjector({
    projectors: 0,
  });

  test('loses no record: the next projector continues from its position, counts it, and commits its own offset', async () => {
    await start();
    await publish(created('tag', 'tag_1'));
    await applied();
    await stop();
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
