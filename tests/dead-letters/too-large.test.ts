import { ConfigResourceTypes } from 'kafkajs';
import { collectionOf } from '../../shared/runtime/mongo.ts';
import { deadLettersOf } from '../../services/projector/dead-letters/dead-letters.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { applied, createRig, runProjector, type Rig } from '../support/projectors.ts';
import { startService } from '../support/service.ts';

const megabyte = 1024 * 1024;

describe('where a topic takes records larger than the documents of the store', () => {
  let rig: Rig;
  let projector: Awaited<ReturnType<typeof runProjector>>;

  beforeAll(async () => {
    rig = await createRig(1);
    const name = topicOf('message', rig.config.TOPIC_PREFIX);
    const configEntries = [{ name: 'max.message.bytes', value: String(64 * megabyte) }];
    const resources = [{ type: ConfigResourceTypes.TOPIC, name, configEntries }];
    await rig.admin.alterConfigs({ validateOnly: false, resources });
    projector = await runProjector(rig);
  }, 120_000);

  afterAll(async () => {
    await projector.stop();
    await rig.close();
  }, 120_000);

  test('a valid event that cannot be stored is set aside whole, and holds up nothing', async () => {
    const topic = topicOf('message', rig.config.TOPIC_PREFIX);
    const message = (id: string, bytes: number) =>
      encode(created('message', id, { content: 'x'.repeat(bytes) }), 'structured');
    const tooLarge = message('msg_2', 20 * megabyte);
    // given one that a document can hold, one that none can, and a small one behind them
    for (const one of [message('msg_1', 7 * megabyte), tooLarge, message('msg_3', 1)])
      await rig.producer.send({ topic, messages: [one] });
    await applied(rig, () => projector.fatal);
    // then the first and the last are there
    const found = await collectionOf(rig.database, 'message').find().sort({ _id: 1 }).toArray();
    expect(found.map(({ _id }) => _id)).toEqual(['msg_1', 'msg_3']);
    // and the other one is where an operator finds it, with its bytes
    const letters = await deadLettersOf(rig.control).find().toArray();
    expect(letters).toMatchObject([{ _id: `${topic}/0/1`, reason: 'too_large', orgId: 'org_1' }]);
    const raw = startService('cli', rig.environment, ['dead-letters', 'show', `${topic}/0/1`, '--raw']);
    expect(await raw.exited).toBe(0);
    expect(raw.stdout() === tooLarge.value).toBe(true);
    const words = ['dead-letters', 'redrive', '--reason', 'too_large'];
    const again = startService('cli', rig.environment, words);
    expect([await again.exited, again.stdout()]).toEqual([1, expect.stringContaining('1 refused')]);
  }, 120_000);
});
