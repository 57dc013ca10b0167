import { startScript } from '../../infra/service.ts';
import { createTopics } from '../../services/operations/topics/create-topics.ts';
import { topicOf } from '../../shared/kafka/topics.ts';
import { logEnds } from '../support/progress.ts';
import { createTestEnvironment } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';

describe('npm run sample-data', () => {
  const testEnvironment = useOpened(() => createTestEnvironment());

  /** A prefix that no topic has yet. */
  const prefix = () => `${testEnvironment.name}-sample.`;
  const run = async (...args: string[]) => {
    const { KAFKA_BROKERS, MONGODB_URL } = testEnvironment.environment;
    const environment = { KAFKA_BROKERS, MONGODB_URL, TOPIC_PREFIX: prefix() };
    const { exited, stdout, stderr } = startScript('infra/sample-data/main.ts', environment, args);
    return { exitCode: await exited, stdout: stdout(), stderr: stderr() };
  };

  test('publishes events only if every topic but that of the keys is empty', async () => {
    await createTopics(testEnvironment.admin, prefix(), { partitions: 1 });
    const key = { key: 'key_1', value: '{}' };
    await testEnvironment.producer.send({ topic: topicOf('apiKey', prefix()), messages: [key] });
    const published = await run();
    expect(published).toMatchObject({ exitCode: 0, stderr: '' });
    expect(published.stdout).toMatch(
      /\nAPI key: svc_live_\w+\nAPI key of 20 requests a window: svc_test_\w+$/,
    );
    const [, count = ''] = /Published ([\d,]+) events/.exec(published.stdout) ?? [];
    const ends = await logEnds(testEnvironment.admin, [
      topicOf('ticket', prefix()),
      topicOf('apiKey', prefix()),
    ]);
    expect([...ends.values()].every((end) => end > 0)).toBe(true);
    expect(Number(count.replace(',', ''))).toBeGreaterThan(10_000);
    // then a second run publishes nothing
    const refused = await run();
    expect(refused).toMatchObject({ exitCode: 1, stdout: '' });
    expect(refused.stderr).toMatch(
      new RegExp(`^${topicOf('agent', prefix())} has records\\. .*TOPIC_PREFIX`),
    );
  });
});
