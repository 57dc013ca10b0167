import { eventually } from '../support/eventually.ts';
import { startService } from '../../infra/service.ts';
import { createTestEnvironment, type TestEnvironment } from '../support/test-environment.ts';
import { openConsole, requestWith, type TestConsole } from './test-console.ts';

const token = 'a-token-of-thirty-two-characters';
const basic = (password: string) => `Basic ${Buffer.from(`ann:${password}`).toString('base64')}`;

let environment: TestEnvironment;
beforeAll(async () => {
  environment = await createTestEnvironment(1);
});
afterAll(() => environment.close());

/** Opens a console with these settings for one test. */
async function withConsole(settings: Record<string, string>, work: (console: TestConsole) => Promise<void>) {
  const console = await openConsole({ ...environment.environment, ...settings });
  try {
    await work(console);
  } finally {
    await console.close();
  }
}

test('a request is refused if its host has a name that a foreign page could take', async () => {
  await withConsole({ CONSOLE_HOSTNAMES: 'console.example.com, ops.example.com' }, async ({ port }) => {
    const status = async (host: string) =>
      (await requestWith(port, { host }, { path: '/assets/icon.svg' })).status;
    for (const host of ['localhost', `localhost:${port}`, '127.0.0.1', '[::1]:80', 'Ops.example.com:8081'])
      expect([host, await status(host)]).toEqual([host, 200]);
    for (const host of [
      'evil.test',
      'localhost.evil.test',
      '127.0.0.1.evil.test',
      '1.2.3',
      '0x7f000001',
      'a b',
    ])
      expect([host, await status(host)]).not.toEqual([host, 200]);
    expect(await status('evil.test')).toBe(421);
  });
});

test('every path needs the token, if there is one, as a bearer token or as the password', async () => {
  await withConsole({ CONSOLE_TOKEN: token }, async ({ port }) => {
    for (const path of ['/', '/lag', '/events?page=/', '/assets/site.css', '/unknown']) {
      for (const authorization of [
        '',
        `Bearer ${token}x`,
        `Bearer ${token.slice(1)}`,
        basic('no'),
        'Basic',
        token,
      ]) {
        const answer = await requestWith(port, { host: 'localhost', authorization }, { path });
        expect([path, authorization, answer.status]).toEqual([path, authorization, 401]);
        expect(answer.headers['www-authenticate']).toMatch(/^Basic /);
      }
    }
    for (const authorization of [`Bearer ${token}`, basic(token), `basic ${basic(token).slice(6)}`])
      expect((await requestWith(port, { host: 'localhost', authorization })).status).toBe(200);
  });
});

test.each([
  ['the named proxy', '127.0.0.0/8', { 'x-user': 'ann' }, 200],
  ['the named proxy without a user', '127.0.0.0/8', {}, 403],
  ['the named proxy with an empty user', '127.0.0.0/8', { 'x-user': ' ' }, 403],
  ['another address that claims a user', '10.0.0.0/8', { 'x-user': 'ann' }, 403],
])('behind a proxy, a request of %s is answered accordingly', async (_, proxies, headers, status) => {
  const settings = { CONSOLE_TRUSTED_PROXIES: proxies, CONSOLE_USER_HEADER: 'X-User' };
  await withConsole(settings, async ({ port }) => {
    expect((await requestWith(port, { host: 'localhost', ...headers })).status).toBe(status);
  });
});

test('only GET and HEAD are served, without cookies, under a policy that allows no other host', async () => {
  await withConsole({}, async ({ port }) => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])
      expect((await requestWith(port, { host: 'localhost' }, { method })).status).toBe(405);
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await requestWith(port, { host: 'localhost' }, { method });
      expect(status).toBe(200);
      expect(headers['set-cookie']).toBeUndefined();
      const policy = String(headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toMatch(/unsafe|data:|\*|http/);
    }
  });
});

test('at most 50 clients watch at once, and one that leaves makes room', async () => {
  await withConsole({}, async ({ url }) => {
    const watch = async () => {
      const leaving = new AbortController();
      const { status } = await fetch(`${url}/events?page=/lag`, { signal: leaving.signal });
      return { status, leave: () => leaving.abort() };
    };
    const clients = await Promise.all(Array.from({ length: 50 }, watch));
    expect(new Set(clients.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await watch()).status).toBe(503);
    clients[0]?.leave();
    await eventually(async () => {
      const client = await watch();
      client.leave();
      return client.status === 200;
    });
    for (const { leave } of clients) leave();
  });
});

test.each([
  ['without a password', {}, 'CONSOLE_HOST: other machines could read the console without a password'],
  ['with a short token', { CONSOLE_TOKEN: 'short' }, 'CONSOLE_TOKEN: must have 24 characters or more'],
  ['with half of a proxy', { CONSOLE_USER_HEADER: 'X-User' }, 'CONSOLE_TRUSTED_PROXIES is not set'],
])('on all addresses the console refuses to start %s', async (_, settings, error) => {
  const service = startService('console', {
    ...environment.environment,
    CONSOLE_HOST: '0.0.0.0',
    ...settings,
  });
  expect([await service.exited, service.stderr()]).toEqual([2, expect.stringContaining(error)]);
});

test('the console listens on loopback by default, and ends at SIGTERM while a client watches', async () => {
  const service = startService('console', {
    ...environment.environment,
    CONSOLE_PORT: '0',
    LOG_LEVEL: 'info',
  });
  const { url } = await service.logged('listening');
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
  const events = await fetch(`${String(url)}events?page=/`);
  expect(events.headers.get('content-type')).toBe('text/event-stream');
  expect(await service.stop()).toBe(0);
  await events.text().catch(() => undefined);
});
