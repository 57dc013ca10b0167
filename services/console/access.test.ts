import { findRefusal } from './access.ts';
import { readConsoleConfig } from './config.ts';

const servers = { KAFKA_BROKERS: 'kafka:9092', MONGODB_URL: 'mongodb://mongo' };
const errors = (settings: Record<string, string>) => {
  const read = readConsoleConfig({ ...servers, ...settings });
  return 'errors' in read ? read.errors : [];
};
/** A password may have a colon. */
const token = `${'x'.repeat(12)}:${'x'.repeat(12)}`;
const basic = (password: string) => `Basic ${Buffer.from(`ann:${password}`).toString('base64')}`;

/** The status with which a console of these settings refuses a request; undefined if it does not. */
function refused(settings: Record<string, string>, headers: Record<string, string>) {
  const read = readConsoleConfig({ ...servers, ...settings });
  if ('errors' in read) throw new Error(read.errors.join());
  return findRefusal(read.config, { headers: { host: 'localhost', ...headers } })?.status;
}

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
});

test('a short token is an error that names the required length', () => {
  expect(errors({ CONSOLE_TOKEN: 'short' })).toEqual([
    expect.stringContaining('CONSOLE_TOKEN: must have 24 characters or more'),
  ]);
});

test.each([
  ...['localhost', 'localhost:80', '127.0.0.1', '[::1]:80', 'Ops.example.com:8081'].map((host) => [
    host,
    true,
  ]),
  ...['evil.test', 'localhost.evil.test', '127.0.0.1.evil.test', '1.2.3', '0x7f000001', 'a b', ''].map(
    (host) => [host, false],
  ),
] as [string, boolean][])(
  'the host name %j, which a foreign page could take, is accepted: %s',
  (host, isOwn) => {
    const names = { CONSOLE_HOSTNAMES: 'console.example.com, ops.example.com' };
    expect(refused(names, { host })).toBe(isOwn ? undefined : 421);
  },
);

test.each([
  ...[`Bearer ${token}`, basic(token), `basic ${basic(token).slice(6)}`].map((text) => [text, true]),
  ...['', `Bearer ${token}x`, `Bearer ${token.slice(1)}`, basic('no'), 'Basic', token].map((text) => [
    text,
    false,
  ]),
] as [string, boolean][])('the authorization %j is accepted: %s', (authorization, isAccepted) => {
  expect(refused({ CONSOLE_TOKEN: token }, { authorization })).toBe(isAccepted ? undefined : 401);
});

test.each([
  ['an address that is typed', { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }, undefined],
  ['a program', {}, undefined],
  ['the console itself', { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }, undefined],
  [
    'a link on another site',
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
    undefined,
  ],
  [
    'a frame on another site',
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
    403,
  ],
  ['a picture on another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }, 403],
  ['another host of the same site', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }, 403],
])('a request of %s, with %j, is refused: %s', (_, headers, status) => {
  expect(refused({}, headers as Record<string, string>)).toBe(status);
});
