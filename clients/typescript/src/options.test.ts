import { parseOptions } from './options.ts';

const valid = { baseUrl: 'https://api.example.com', apiKey: 'svc_live_0123456789abcdef' };

test.each([
  ['https://api.example.com', 'https://api.example.com'],
  ['https://example.com/support/', 'https://example.com/support'],
  ['http://localhost:8080', 'http://localhost:8080'],
  ['http://127.0.0.1:8080/', 'http://127.0.0.1:8080'],
  ['http://[::1]:8080', 'http://[::1]:8080'],
])('%s is accepted', (baseUrl, parsed) => {
  expect(parseOptions({ ...valid, baseUrl }).baseUrl).toBe(parsed);
});

test.each([
  'http://api.example.com',
  'http://127.0.0.1.example.com',
  'http://localhost.example.com',
  'ftp://api.example.com',
])('%s is refused, because it would send the key unencrypted', (baseUrl) => {
  expect(() => parseOptions({ ...valid, baseUrl })).toThrow(/^baseUrl must be an https: URL/);
});

test.each(['api.example.com', ''])('"%s" is refused, because it is not a URL', (baseUrl) => {
  expect(() => parseOptions({ ...valid, baseUrl })).toThrow(/^baseUrl must be an https: URL/);
});

test.each([
  'https://user:secret@api.example.com',
  'https://api.example.com?key=1',
  'https://api.example.com#top',
])('%s is refused, because it has a user, a query or a fragment', (baseUrl) => {
  expect(() => parseOptions({ ...valid, baseUrl })).toThrow(/^baseUrl must have no user, query or fragment/);
});

test.each([undefined, ''])('a missing key (%j) is an error that says how to pass one', (apiKey) => {
  // As a program without types may call it.
  const options = { ...valid, apiKey: apiKey as string };
  expect(() => parseOptions(options)).toThrow(/^apiKey is missing: pass an API key/);
});

test.each([' ', 'svc_live_secret\n', 'svc_live_secret\r\nX: 1', 'svc_live_sécret', ' svc_live_secret'])(
  'the key %j is refused, and the error does not contain it',
  (apiKey) => {
    expect(() => parseOptions({ ...valid, apiKey })).toThrow(
      'apiKey must be printable ASCII without spaces around it',
    );
  },
);

/** The maximum delay of a timer of JavaScript, in milliseconds. */
const timerMaxMs = 2 ** 31 - 1;

test.each([
  ['timeoutMs', 0],
  ['timeoutMs', timerMaxMs + 1],
  ['timeoutMs', Number.NaN],
  ['retries', -1],
  ['retries', 1.5],
  ['retries', Number.POSITIVE_INFINITY],
  ['retryForMs', -1],
])('the error for %s = %d names the option', (name, value) => {
  expect(() => parseOptions({ ...valid, [name]: value })).toThrow(`${name} must be a whole number`);
});
