import { createHash } from 'node:crypto';
import { ConfigResourceTypes } from 'kafkajs';
import { collectionOf } from '../../shared/store/connection.ts';
import { deadLettersOf } from '../../services/projector/dead-letters/collection.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import {
  applied,
  createTestEnvironment,
  runProjector,
  type TestEnvironment,
} from '../support/test-environment.ts';
import { startService } from '../support/service.ts';

const megabyte = 1024 * 1024;

describe('a topic that allows records larger than a MongoDB document', () => {
  let testEnvironment: TestEnvironment;
  let projector: Awaited<ReturnType<typeof runProjector>>;

  beforeAll(async () => {
    testEnvironment = await createTestEnvironment(1);
    const name = topicOf('message', testEnvironment.config.TOPIC_PREFIX);
    const configEntries = [{ name: 'max.message.bytes', value: String(64 * megabyte) }];
    const resources = [{ type: ConfigResourceTypes.TOPIC, name, configEntries }];
    await testEnvironment.admin.alterConfigs({ validateOnly: false, resources });
    projector = await runProjector(testEnvironment);
  }, 120_000);

  afterAll(async () => {
    await projector.stop();
    await testEnvironment.close();
  }, 120_000);

  const topic = () => topicOf('message', testEnvironment.config.TOPIC_PREFIX);
  const message = (id: string, bytes: number) =>
    encode(created('message', id, { content: 'x'.repeat(bytes) }), 'structured');
  /** Runs a dead-letter command as a process. Returns its exit code and its output. */
  const cli = async (...args: string[]) => {
    const service = startService('cli', testEnvironment.environment, ['dead-letters', ...args]);
    return { code: await service.exited, text: service.stdout(), errors: service.stderr() };
  };

  test('a valid event that is too large is dead-lettered with its head, and blocks nothing', async () => {
    const tooLarge = message('msg_2', 20 * megabyte);
    // given an event that fits a document, one that does not, and a small one after them
    for (const produced of [message('msg_1', 7 * megabyte), tooLarge, message('msg_3', 1)])
      await testEnvironment.producer.send({ topic: topic(), messages: [produced] });
    await applied(testEnvironment, () => projector.fatal);
    // then the first and the last are applied
    const found = await collectionOf(testEnvironment.database, 'message').find().sort({ _id: 1 }).toArray();
    expect(found.map(({ _id }) => _id)).toEqual(['msg_1', 'msg_3']);
    // and the other one is a dead letter
    const id = `${topic()}/0/1`;
    const deadLetters = await deadLettersOf(testEnvironment.control).find().toArray();
    expect(deadLetters).toMatchObject([{ _id: id, reason: 'too_large', orgId: 'org_1' }]);
    // with its head, its size and its hash
    const sha256 = createHash('sha256')
      .update(tooLarge.value ?? '')
      .digest('hex');
    const shown = await cli('show', id);
    expect(shown.text).toMatch(/^truncated +only the head of the record is kept/m);
    expect(shown.text).toContain(`${tooLarge.value?.length} bytes, SHA-256 ${sha256}`);
    expect(JSON.parse((await cli('show', id, '--json')).text)).toMatchObject({
      key: 'msg_2',
      truncated: { valueBytes: tooLarge.value?.length, sha256 },
    });
    const raw = await cli('show', id, '--raw');
    expect(raw.text).toBe(tooLarge.value?.slice(0, 64 * 1024));
    expect(raw.errors).toContain(`Only the first 65536 of ${tooLarge.value?.length} bytes are kept`);
  }, 120_000);

  test('a dead letter with only the head is not redriven, and the error names the offset of its record', async () => {
    const [before] = await deadLettersOf(testEnvironment.control).find().toArray();
    const again = await cli('redrive', '--reason', 'too_large');
    expect(again).toMatchObject({ code: 1, text: expect.stringContaining('1 refused') as string });
    expect(again.text).toContain(`offset 1 of partition 0 of ${topic()}: publish it again`);
    expect(await deadLettersOf(testEnvironment.control).find().toArray()).toEqual([before]);
    // and it can be purged like any other
    expect(await cli('purge', '--all', '--yes')).toMatchObject({ code: 0 });
    expect(await deadLettersOf(testEnvironment.control).countDocuments()).toBe(0);
  }, 60_000);
});
