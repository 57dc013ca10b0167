import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { progressOf } from '../../shared/store/progress.ts';
import { startConsumer } from '../../services/projector/consumer/consumer.ts';
import { createLogClient } from '../../services/projector/kafka/log-client.ts';
import { topicOf } from '../../services/projector/events/topics.ts';
import { createKafka } from '../../services/projector/kafka/client.ts';
import { created } from '../support/entities.ts';
import { encode } from '../support/events.ts';
import { createTestEnvironment, runProjector, type TestEnvironment } from '../support/test-environment.ts';
import { anyOrder } from '../support/order.ts';

describe('a projector that is stopped', () => {
  let testEnvironment: TestEnvironment;
  beforeEach(async () => {
    testEnvironment = await createTestEnvironment(1);
  }, 60_000);
  afterEach(() => testEnvironment.close(), 60_000);

  const topic = () => topicOf('tag', testEnvironment.config.TOPIC_PREFIX);
  const publish = (...ids: string[]) =>
    testEnvironment.producer.send({
      topic: topic(),
      messages: ids.map((id) => encode(created('tag', id), 'structured')),
    });
  const committed = async () => {
    const groups = await testEnvironment.admin.fetchOffsets({
      groupId: testEnvironment.config.CONSUMER_GROUP,
      topics: [topic()],
    });
    return Number(groups[0]?.partitions[0]?.offset);
  };

  test('saves and commits what it has applied since the last commit', async () => {
    // given a projector whose commit loop runs only at its start
    const projector = await runProjector(testEnvironment, { commitIntervalMs: 3_600_000 });
    await publish('tag_1', 'tag_2');
    while ((await testEnvironment.database.collection('tags').countDocuments()) < 2) await sleep(50);
    // when it stops
    await projector.stop();
    // then the next projector continues after the applied records
    expect(await committed()).toBe(2);
    expect(await progressOf(testEnvironment.control).findOne({ topic: topic() })).toMatchObject({
      position: 2,
    });
  }, 60_000);

  test('finishes the batch in progress, and starts no other', async () => {
    const kafka = createKafka(testEnvironment.config, pino({ level: 'silent' }));
    const log = createLogClient(kafka);
    await log.connect();
    const done: string[] = [];
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    let enter = () => {};
    const entered = new Promise<void>((resolve) => (enter = resolve));
    const consuming = await startConsumer({
      ...{
        kafka,
        log,
        admin: testEnvironment.admin,
        control: testEnvironment.control,
        generation: 1,
        topics: [topic()],
      },
      logger: pino({ level: 'silent' }),
      groupId: testEnvironment.config.CONSUMER_GROUP,
      queuedBytesMax: 1_000_000,
      sessionTimeoutMs: 10_000,
      apply: async (_, records, { signal }) => {
        enter();
        await released;
        signal.throwIfAborted();
        done.push(...records.map(({ key }) => String(key)));
        return { events: records.length, rejected: 0, times: [] };
      },
      ...anyOrder(),
      onApplied: () => undefined,
      onFatal: (error) => done.push(error.message),
    });
    // given a batch in progress, and a record that was published since
    await publish('tag_1');
    await entered;
    await publish('tag_2');
    // when it is stopped, and the batch takes a while longer
    const stopped = consuming.stop(() => consuming.commit(consuming.snapshot()));
    await sleep(200);
    release();
    await stopped;
    await log.disconnect();
    // then the batch is applied and committed
    expect(done).toEqual(['tag_1']);
    expect(await committed()).toBe(1);
  }, 60_000);
});
