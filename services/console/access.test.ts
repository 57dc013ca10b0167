import { refusal } from './access.ts';
import { readConsoleConfig } from './config.ts';

const servers = { KAFKA_BROKERS: 'kafka:9092', MONGODB_URL: 'mongodb://mongo' };
const errors = (settings: Record<string, string>) => {
  const read = readConsoleConfig({ ...servers, ...settings });
  return 'errors' in read ? read.errors : [];
};
const token = 'x'.repeat(24);

test.each([
  ['127.0.0.1', true],
  ['127.8.9.1', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['localhost', true],
  ['0.0.0.0', false],
  ['::', false],
  ['10.0.0.1', false],
  ['console.internal', false],
])('CONSOLE_HOST=%s needs no password: %s', (CONSOLE_HOST, isOpen) => {
  expect(errors({ CONSOLE_HOST }).length === 0).toBe(isOpen);
  expect(errors({ CONSOLE_HOST, CONSOLE_TOKEN: token })).toEqual([]);
  const proxy = { CONSOLE_TRUSTED_PROXIES: '10.0.0.2', CONSOLE_USER_HEADER: 'X-User' };
  expect(errors({ CONSOLE_HOST, ...proxy })).toEqual([]);
});

test('the user header of a proxy counts beside a token', () => {
  const read = readConsoleConfig({
    ...servers,
    CONSOLE_TOKEN: token,
    CONSOLE_TRUSTED_PROXIES: '10.0.0.2',
    CONSOLE_USER_HEADER: 'X-User',
  });
  if ('errors' in read) throw new Error(read.errors.join());
  const status = (remoteAddress: string, headers: Record<string, string>) =>
    refusal(read.config, { headers: { host: 'localhost', ...headers }, socket: { remoteAddress } })?.status;
  expect(status('::ffff:10.0.0.2', { 'x-user': 'ann' })).toBeUndefined();
  expect(status('10.0.0.3', { 'x-user': 'ann' })).toBe(401);
  expect(status('10.0.0.3', { authorization: `Bearer ${token}` })).toBeUndefined();
});
