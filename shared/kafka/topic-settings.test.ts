import type { Admin } from 'kafkajs';
import { readTopicSettings, topicWarnings } from './topic-settings.ts';

const notAuthorized = () =>
  Object.assign(new Error('Not authorized to access topics'), {
    name: 'KafkaJSProtocolError',
    type: 'TOPIC_AUTHORIZATION_FAILED',
  });

/** As kafkajs with real brokers: one topic without the right rejects the whole request. */
function adminWithout(hidden: string[], error: () => Error = notAuthorized): Pick<Admin, 'describeConfigs'> {
  return {
    describeConfigs: ({ resources }) => {
      if (resources.some(({ name }) => hidden.includes(name))) return Promise.reject(error());
      const configEntries = Object.entries({ 'cleanup.policy': 'delete', 'delete.retention.ms': '1' }).map(
        ([configName, configValue]) => ({ configName, configValue }),
      );
      return Promise.resolve({
        resources: resources.map(({ name }) => ({ resourceName: name, configEntries })),
      } as never);
    },
  };
}

test('the settings of other topics are read beside a topic that the Kafka user may not describe', async () => {
  const settings = await readTopicSettings(adminWithout(['b']), ['a', 'b', 'c']);
  expect(settings.map(({ topic, cleanupPolicy }) => [topic, cleanupPolicy])).toEqual([
    ['a', 'delete'],
    ['b', null],
    ['c', 'delete'],
  ]);
  expect(topicWarnings(settings).filter(({ topic }) => topic === 'b')).toEqual([
    {
      topic: 'b',
      risk: 'unknown',
      text: 'b: the Kafka user needs DescribeConfigs on it: Not authorized to access topics',
      setting: null,
    },
  ]);
});

test('the error of the brokers is thrown if no topic can be described', async () => {
  await expect(readTopicSettings(adminWithout(['a', 'b']), ['a', 'b'])).rejects.toThrow('Not authorized');
  const away = adminWithout(['b'], () => new Error('Connection timeout'));
  await expect(readTopicSettings(away, ['a', 'b'])).rejects.toThrow('Connection timeout');
});
