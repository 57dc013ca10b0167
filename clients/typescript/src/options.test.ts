import { parseOptions } from './options.ts';

const good = { baseUrl: 'https://api.example.com', apiKey: 'svc_live_0123456789abcdef' };

test.each([
  ['https://api.example.com', 'https://api.example.com'],
  ['https://example.com/support/', 'https://example.com/support'],
  ['http://localhost:8080', 'http://localhost:8080'],
  ['http://127.0.0.1:8080/', 'http://127.0.0.1:8080'],
  ['http://[::1]:8080', 'http://[::1]:8080'],
])('%s is accepted', (baseUrl, parsed) => {
  expect(parseOptions({ ...good, baseUrl }).baseUrl).toBe(parsed);
});

test.each([
  'http://api.example.com',
  'http://127.0.0.1.example.com',
  'http://localhost.example.com',
  'ftp://api.example.com',
  'https://user:secret@api.example.com',
  'https://api.example.com?key=1',
  'https://api.example.com#top',
  'api.example.com',
  '',
])('"%s" is refused, because it could expose the key', (baseUrl) => {
  expect(() => parseOptions({ ...good, baseUrl })).toThrow(/^baseUrl must/);
});

test.each([undefined, ''])('the error of the key %j says what to do', (apiKey) => {
  expect(() => parseOptions({ ...good, apiKey: apiKey as string })).toThrow(
    /^apiKey is missing: pass an API key/,
  );
});

test.each([' ', 'svc_live_secret\n', 'svc_live_secret\r\nX: 1', 'svc_live_sécret', ' svc_live_secret'])(
  'the key %j is refused, and the error does not contain it',
  (apiKey) => {
    expect(() => parseOptions({ ...good, apiKey })).toThrow(
      'apiKey must be printable ASCII without spaces around it',
    );
  },
);

test.each([
  ['timeoutMs', 0],
  ['timeoutMs', 2 ** 31],
  ['timeoutMs', Number.NaN],
  ['retries', -1],
  ['retries', 1.5],
  ['retries', Number.POSITIVE_INFINITY],
  ['retryForMs', -1],
])('%s %d is refused by name', (name, value) => {
  expect(() => parseOptions({ ...good, [name]: value })).toThrow(`${name} must be a whole number`);
});
