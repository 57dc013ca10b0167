import { logLevel, type LogEntry } from 'kafkajs';
import { levelOf } from './client.ts';

const entry = (namespace: string, error: string): LogEntry => ({
  namespace,
  level: logLevel.ERROR,
  label: 'ERROR',
  log: { timestamp: '', message: 'Response Heartbeat(key: 12, version: 3)', error },
});

describe('a log line of kafkajs', () => {
  test.each([
    ['a rebalance, which every heartbeat reports', 'Connection', 'rejoin', 'debug'],
    ['any other error response of a broker', 'Connection', 'Group authorization failed', 'error'],
    ['a consumer that stops because of a rebalance', 'Consumer', 'rejoin', 'error'],
  ])('about %s has the expected level', (_, namespace, error, level) => {
    const text = error === 'rejoin' ? 'The group is rebalancing, so a rejoin is needed' : error;
    expect(levelOf(entry(namespace, text))).toBe(level);
  });
});
