import { type LogEntry, logLevel } from 'kafkajs';
import { levelOf } from './client.ts';

const entry = (
  namespace: string,
  error: string,
  message = 'Response Heartbeat(key: 12, version: 3)',
): LogEntry => ({ namespace, level: logLevel.ERROR, label: 'ERROR', log: { timestamp: '', message, error } });

const rebalancing = 'The group is rebalancing, so a rejoin is needed';

describe('a log line of kafkajs', () => {
  test.each([
    {
      name: 'a rebalance, which every heartbeat reports',
      namespace: 'Connection',
      error: rebalancing,
      level: 'debug',
    },
    {
      name: 'a partition of a new topic, whose broker does not lead it yet',
      namespace: 'Connection',
      error: 'This server is not the leader for that topic-partition',
      level: 'debug',
    },
    {
      name: 'any other error response of a broker',
      namespace: 'Connection',
      error: 'Group authorization failed',
      level: 'error',
    },
    {
      name: 'a consumer that stops because of a rebalance',
      namespace: 'Consumer',
      error: rebalancing,
      level: 'error',
    },
  ])('about $name has the expected level', ({ namespace, error, level }) => {
    expect(levelOf(entry(namespace, error))).toBe(level);
  });

  test.each(['Crash: KafkaJSError: gone', 'Restarting the consumer in 200ms'])(
    '%s is logged at debug, because the CRASH event of the consumer reports it',
    (message) => {
      expect(levelOf(entry('Consumer', '', message))).toBe('debug');
    },
  );
});
