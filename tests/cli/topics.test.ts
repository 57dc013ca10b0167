import type { Admin } from 'kafkajs';
import { createTopics } from '../../services/operations/topics/create-topics.ts';
import { topicOf } from '../../shared/kafka/topics.ts';
import { createTestEnvironment } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';

/** The error of kafkajs while a broker does not know a new topic, or does not know that it leads a partition. */
const unknownTopic = () =>
  Object.assign(new Error('This server does not host this topic-partition'), {
    name: 'KafkaJSProtocolError',
    type: 'UNKNOWN_TOPIC_OR_PARTITION',
    retriable: true,
  });

describe('topics create', () => {
  const testEnvironment = useOpened(() => createTestEnvironment());

  test('waits until every broker knows a new topic', async () => {
    const prefix = `${testEnvironment.name}-slow.`;
    const ticketTopic = topicOf('ticket', prefix);
    let requests = 0;
    const slow: Admin = {
      ...testEnvironment.admin,
      // If kafkajs waits for the leaders, it asks for them once, and fails if a broker does not know the topic.
      createTopics: async (request) => {
        const isCreated = await testEnvironment.admin.createTopics({ ...request, waitForLeaders: false });
        if (request.waitForLeaders !== false) throw unknownTopic();
        return isCreated;
      },
      fetchTopicOffsets: async (topic) => {
        if (topic === ticketTopic) requests += 1;
        if (topic === ticketTopic && requests <= 2) throw unknownTopic();
        return testEnvironment.admin.fetchTopicOffsets(topic);
      },
    };
    const output = await createTopics(slow, prefix, { partitions: 2 });
    expect(output).toContain(`${ticketTopic}: created, 2 partitions`);
    expect(requests).toBeGreaterThanOrEqual(3);
  });

  test('leaves an existing topic unchanged', async () => {
    const prefix = `${testEnvironment.name}-existing.`;
    await createTopics(testEnvironment.admin, prefix, { partitions: 2 });
    const output = await createTopics(testEnvironment.admin, prefix, { partitions: 5 });
    const ticketTopic = topicOf('ticket', prefix);
    expect(output).toContain(`${ticketTopic}: already exists, left unchanged`);
    expect(await testEnvironment.admin.fetchTopicOffsets(ticketTopic)).toHaveLength(2);
  });

  test('sets the replication factor and min.insync.replicas', async () => {
    const prefix = `${testEnvironment.name}-replicated.`;
    const { admin } = testEnvironment;
    await createTopics(admin, prefix, { partitions: 1, replicationFactor: 1, minInsyncReplicas: 2 });
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: 2, name: topicOf('tag', prefix), configNames: ['min.insync.replicas'] }],
    });
    expect(resources[0]?.configEntries).toMatchObject([{ configValue: '2', isDefault: false }]);
    const tooManyReplicas = { partitions: 1, replicationFactor: 9 };
    await expect(createTopics(admin, `${prefix}too-many.`, tooManyReplicas)).rejects.toThrow(/replication/i);
  });

  test('fails immediately for an error that no wait can solve', async () => {
    const refused = Object.assign(new Error('not authorized'), { retriable: false });
    const unauthorized: Admin = {
      ...testEnvironment.admin,
      fetchTopicOffsets: () => Promise.reject(refused),
    };
    const creation = createTopics(unauthorized, `${testEnvironment.name}-refused.`, { partitions: 1 });
    await expect(creation).rejects.toBe(refused);
  });
});
