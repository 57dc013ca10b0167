import { pino, type Logger } from 'pino';
import { collectionOf } from '../../shared/store/connection.ts';
import { progressOf } from '../../shared/store/progress.ts';
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
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';

/** A logger, and a promise for the next failed batch. */
function listeningLogger(): { logger: Logger; failed: () => Promise<void> } {
  const waiting: (() => void)[] = [];
  const write = (line: string) => {
    if (line.includes('could not apply')) for (const resolve of waiting.splice(0)) resolve();
  };
  return {
    logger: pino({ level: 'error' }, { write }),
    failed: () => new Promise((resolve) => waiting.push(resolve)),
  };
}

describe('while dead letters cannot be stored, consumption waits', () => {
  let testEnvironment: TestEnvironment;
  let projector: Awaited<ReturnType<typeof runProjector>> | null = null;

  beforeEach(async () => {
    testEnvironment = await createTestEnvironment(1);
  }, 120_000);

  afterEach(async () => {
    await projector?.stop();
    await testEnvironment.close();
  }, 120_000);

  const tags = () => topicOf('tag', testEnvironment.config.TOPIC_PREFIX);
  const settled = () => applied(testEnvironment, () => projector?.fatal ?? []);
  const publish = (...messages: { key: string; value: string | null }[]) =>
    testEnvironment.producer.send({ topic: tags(), messages });
  const tag = (name: string, version: number) =>
    encode(created('tag', 'tag_1', { name }, version), 'structured');
  const poison = { key: 'tag_1', value: '{' };

  /** The committed offset of the group; it follows the saved progress. */
  const committed = async () => {
    for (let attempts = 1; ; attempts += 1) {
      const groups = await testEnvironment.admin.fetchOffsets({
        groupId: testEnvironment.config.CONSUMER_GROUP,
        topics: [tags()],
      });
      const offset = Number(groups[0]?.partitions[0]?.offset);
      if (offset >= 0 || attempts > 100) return offset;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  const expectWaiting = async () => {
    expect(await progressOf(testEnvironment.control).findOne({ topic: tags() })).toMatchObject({
      position: 1,
    });
    expect(await committed()).toBe(1);
    expect(await deadLettersOf(testEnvironment.control).countDocuments()).toBe(0);
  };
  const expectAllThere = async () => {
    const deadLetters = await deadLettersOf(testEnvironment.control).find().toArray();
    expect(deadLetters.map(({ _id }) => _id)).toEqual([`${tags()}/0/1`]);
    expect(
      (await collectionOf(testEnvironment.database, 'tag').findOne({ _id: 'tag_1' }))?.state,
    ).toMatchObject({
      name: 'after',
    });
  };

  test('for an unavailable MongoDB, and continues when it is back', async () => {
    const proxy = createStoreProxy(testEnvironment.config.MONGODB_URL);
    const port = await proxy.listen(0);
    const { logger, failed } = listeningLogger();
    const config = { ...testEnvironment.config, MONGODB_URL: proxiedUrl(port) };
    projector = await runProjector({ config, topics: testEnvironment.topics }, { logger });
    await publish(tag('before', 1));
    await settled();
    // The commit follows the saved progress, and the watermark.
    expect(await committed()).toBe(1);
    await proxy.cut();
    // Published alone, so that only storing the dead letter needs MongoDB.
    await publish(poison);
    await failed();
    await failed();
    await publish(tag('after', 2));
    await expectWaiting();
    await proxy.listen(port);
    await settled();
    await expectAllThere();
    await projector.stop();
    projector = null;
    await proxy.cut();
  }, 120_000);
});
