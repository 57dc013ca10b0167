import { startScript } from '../../infra/service.ts';
import { createTopics } from '../../services/operations/topics/create-topics.ts';
import { topicOf } from '../../shared/kafka/topics.ts';
import { logEnds } from '../support/progress.ts';
import { createTestEnvironment } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';

describe('npm run sample-data', () => {
  const testEnvironment = useOpened(() => createTestEnvironment());

  /** The prefix of the topics of this test alone. */
  const prefix = () => `${testEnvironment.name}-sample.`;
  const run = async (...args: string[]) => {
    const { KAFKA_BROKERS, MONGODB_URL } = testEnvironment.variables;
    const environment = { KAFKA_BROKERS, MONGODB_URL, TOPIC_PREFIX: prefix() };
    const { exited, stdout, stderr } = startScript('infra/sample-data/main.ts', environment, args);
    return { exitCode: await exited, stdout: stdout(), stderr: stderr() };
  };

  let published: Awaited<ReturnType<typeof run>>;
  beforeAll(async () => {
    await createTopics(testEnvironment.admin, prefix(), { partitions: 1 });
    const key = { key: 'key_1', value: '{}' };
    await testEnvironment.producer.send({ topic: topicOf('apiKey', prefix()), messages: [key] });
    published = await run();
  });

  test('publishes events and prints two keys although the topic of keys has a record', async () => {
    const { exitCode, stdout, stderr } = published;
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/\nAPI key: svc_live_\w+\nAPI key of 20 requests a window: svc_test_\w+$/);
    const [, sent = ''] = /Published ([\d,]+) events/.exec(stdout) ?? [];
    expect(Number(sent.replace(',', ''))).toBeGreaterThan(10_000);
    const topics = [topicOf('ticket', prefix()), topicOf('apiKey', prefix())];
    const ends = await logEnds(testEnvironment.admin, topics);
    expect([...ends.values()].every((end) => end > 0)).toBe(true);
  });

  test('publishes nothing if another topic than the topic of keys has records', async () => {
    const refused = await run();
    expect(refused).toMatchObject({ exitCode: 1, stdout: '' });
    expect(refused.stderr).toMatch(new RegExp(`^${topicOf('agent', prefix())} has records, .*TOPIC_PREFIX`));
  });
});
