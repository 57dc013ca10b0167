import { ConfigResourceTypes } from 'kafkajs';
import { createTopics } from '../../services/cli/topics.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { topicIdsOf } from '../../shared/store/progress.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { eventually } from '../support/eventually.ts';
import { applied, createTestEnvironment, type TestEnvironment } from '../support/test-environment.ts';
import { logEnds } from '../support/progress.ts';
import { startService } from '../support/service.ts';

describe('records that are deleted from the log before they were applied', () => {
  let testEnvironment: TestEnvironment;
  beforeEach(async () => {
    testEnvironment = await createTestEnvironment(1);
  }, 60_000);
  afterEach(() => testEnvironment.close(), 60_000);

  const topic = () => topicOf('tag', testEnvironment.config.TOPIC_PREFIX);
  const publish = async (...ids: string[]) => {
    for (const id of ids)
      await testEnvironment.producer.send({
        topic: topic(),
        messages: [encode(created('tag', id), 'structured')],
      });
  };
  const deleteUpTo = async (offset: number) => {
    // A topic that is compacted only cannot lose its beginning this way.
    const configEntries = [{ name: 'cleanup.policy', value: 'compact,delete' }];
    const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic(), configEntries }];
    await testEnvironment.admin.alterConfigs({ validateOnly: false, resources });
    await testEnvironment.admin.deleteTopicRecords({
      topic: topic(),
      partitions: [{ partition: 0, offset: String(offset) }],
    });
  };
  const start = () => startService('projector', { ...testEnvironment.environment, LOG_LEVEL: 'info' });
  const fatal = ({ log }: ReturnType<typeof start>) =>
    JSON.stringify(log.find(({ level }) => level === 'fatal'));

  test('stop the projector with an error that names them; nothing is skipped', async () => {
    // given a stopped projector that has applied two records
    await publish('tag_1', 'tag_2');
    const first = start();
    await applied(testEnvironment);
    expect(await first.stop()).toBe(0);
    // when records are published and some of them are deleted
    await publish('tag_3', 'tag_4', 'tag_5');
    await deleteUpTo(4);
    // then the next projector exits with an error
    const second = start();
    expect(await second.exited).toBe(1);
    expect(fatal(second)).toMatch(/tags\/0: the records from offset 2 to 3 are gone/);
    expect(
      await testEnvironment.database.collection<{ _id: string }>('tags').findOne({ _id: 'tag_5' }),
    ).toBeNull();
  }, 90_000);

  test('stop a running projector too, even if no record follows', async () => {
    // given a suspended projector that has applied a record
    await publish('tag_1');
    const projector = start();
    await applied(testEnvironment);
    projector.child.kill('SIGSTOP');
    // when records are published and deleted; the first may be fetched already
    await publish('tag_2', 'tag_3', 'tag_4', 'tag_5');
    await deleteUpTo(5);
    projector.child.kill('SIGCONT');
    // then it exits instead of waiting for more records
    expect(await projector.exited).toBe(1);
    expect(fatal(projector)).toMatch(/tags\/0: the records from offset \d to 4 are gone/);
  }, 90_000);

  /** Deletes the topic and creates it again, with these records. */
  const replaceTopic = async (...ids: string[]) => {
    await testEnvironment.admin.deleteTopics({ topics: [topic()] });
    await eventually(async () => !(await testEnvironment.admin.listTopics()).includes(topic()));
    await createTopics(testEnvironment.admin, testEnvironment.config.TOPIC_PREFIX, 1);
    await logEnds(testEnvironment.admin, [topic()]);
    await publish(...ids);
  };

  test('stop the projector if the topic was recreated with more records than were applied', async () => {
    // given a stopped projector that has applied two records
    await publish('tag_1', 'tag_2');
    const first = start();
    await applied(testEnvironment);
    expect(await first.stop()).toBe(0);
    // when a topic of the same name holds others where those two were, and more
    await replaceTopic('tag_3', 'tag_4', 'tag_5');
    // then the next projector exits with an error
    const second = start();
    expect(await second.exited).toBe(1);
    expect(fatal(second)).toMatch(/tags\/0: .* applied the log up to 2, but of another topic of this name/);
    expect(
      await testEnvironment.database.collection<{ _id: string }>('tags').findOne({ _id: 'tag_5' }),
    ).toBeNull();
  }, 90_000);

  test('stop a running projector too if the topic is recreated', async () => {
    await publish('tag_1');
    const projector = start();
    await applied(testEnvironment);
    projector.child.kill('SIGSTOP');
    await replaceTopic('tag_2', 'tag_3', 'tag_4');
    projector.child.kill('SIGCONT');
    expect(await projector.exited).toBe(1);
    expect(fatal(projector)).toMatch(/tags\/0: .*another topic of this name/);
  }, 90_000);

  test('are no gap if none of the topic was applied before it was recreated', async () => {
    const first = start();
    await first.logged('projecting');
    const { control, topics } = testEnvironment;
    await eventually(async () => (await topicIdsOf(control).countDocuments()) >= topics.length);
    expect(await first.stop()).toBe(0);
    await replaceTopic('tag_1');
    const second = start();
    await applied(testEnvironment, () => (second.child.exitCode === null ? [] : [new Error(fatal(second))]));
    expect(await testEnvironment.database.collection('tags').countDocuments()).toBe(1);
    expect(await second.stop()).toBe(0);
  }, 90_000);

  test('are no gap if only control records and aborted records remain', async () => {
    // given a stopped projector, and a log whose next records are those of an aborted transaction
    await publish('tag_1');
    const first = start();
    await applied(testEnvironment);
    expect(await first.stop()).toBe(0);
    const transactional = testEnvironment.kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      transactionalId: testEnvironment.name,
    });
    await transactional.connect();
    const transaction = await transactional.transaction();
    await transaction.send({ topic: topic(), messages: [encode(created('tag', 'tag_x'), 'structured')] });
    await transaction.abort();
    await transactional.disconnect();
    // when the next projector has passed them, and a record is published
    const second = start();
    await applied(testEnvironment, () => (second.child.exitCode === null ? [] : [new Error(fatal(second))]));
    await publish('tag_2');
    await applied(testEnvironment);
    // then only that record is applied
    const tags = await testEnvironment.database.collection('tags').find().toArray();
    expect(tags.map(({ _id }) => String(_id)).sort()).toEqual(['tag_1', 'tag_2']);
    expect(await second.stop()).toBe(0);
  }, 90_000);
});
