import { ConfigResourceTypes } from 'kafkajs';
import { topicOf } from '../../services/projector/events/topics.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { applied, createRig, type Rig } from '../support/projectors.ts';
import { startService } from '../support/service.ts';

describe('a stretch of the log that is gone before it was applied', () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await createRig(1);
  }, 60_000);
  afterAll(() => rig.close(), 60_000);

  test('stops the projector with an error that names it; nothing is skipped', async () => {
    // given a projector that has applied two records, and is down
    const topic = topicOf('tag', rig.config.TOPIC_PREFIX);
    const publish = (id: string) =>
      rig.producer.send({ topic, messages: [encode(created('tag', id), 'structured')] });
    await publish('tag_1');
    await publish('tag_2');
    const first = startService('projector', rig.environment);
    await applied(rig);
    expect(await first.stop()).toBe(0);
    // when records come and the log's beginning is deleted past them
    for (const id of ['tag_3', 'tag_4', 'tag_5']) await publish(id);
    // A topic that is compacted only cannot lose its beginning this way.
    const configEntries = [{ name: 'cleanup.policy', value: 'compact,delete' }];
    const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }];
    await rig.admin.alterConfigs({ validateOnly: false, resources });
    await rig.admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '4' }] });
    // then the next one ends with an error
    const second = startService('projector', { ...rig.environment, LOG_LEVEL: 'info' });
    expect(await second.exited).toBe(1);
    const fatal = second.log.find(({ level }) => level === 'fatal');
    expect(JSON.stringify(fatal)).toMatch(
      /tags\/0: (the records from offset 2 to 4 are gone|the group has committed offset 4, but .* up to 2 only)/,
    );
    expect(await rig.database.collection<{ _id: string }>('tags').findOne({ _id: 'tag_5' })).toBeNull();
  }, 90_000);
});
