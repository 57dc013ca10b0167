import { logLevel, type LogEntry } from 'kafkajs';
import { levelOf } from './client.ts';

const entry = (namespace: string, error: string): LogEntry => ({
  namespace,
  level: logLevel.ERROR,
  label: 'ERROR',
  log: { timestamp: '', message: 'Response Heartbeat(key: 12, version: 3)', error },
});

describe('a line of the Kafka client', () => {
  test.each([
    ['a rebalance that every heartbeat is told of', 'Connection', 'rejoin', 'debug'],
    ['any other answer of a broker', 'Connection', 'Group authorization failed', 'error'],
    ['a consumer that ends by the same', 'Consumer', 'rejoin', 'error'],
  ])('about %s has the level that it deserves', (_, namespace, error, level) => {
    const text = error === 'rejoin' ? 'The group is rebalancing, so a rejoin is needed' : error;
    expect(levelOf(entry(namespace, text))).toBe(level);
  });
});
