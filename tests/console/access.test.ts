import { startService } from '../../infra/service.ts';
import { createTestEnvironment } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';
import { openConsole, requestWith } from './test-console.ts';

const token = 'a-token-of-thirty-two-characters';

const environment = useOpened(() => createTestEnvironment(1));

const openAccess = useOpened(() => openConsole(environment.variables));
const withToken = useOpened(() => openConsole({ ...environment.variables, CONSOLE_TOKEN: token }));

test('every path refuses a request that has no token or names a foreign host', async () => {
  const { port } = withToken;
  const authorization = `Bearer ${token}`;
  for (const path of ['/', '/lag', '/assets/site.css', '/unknown']) {
    const withoutToken = await requestWith(port, { host: 'localhost' }, { path });
    expect({ path, status: withoutToken.status }).toEqual({ path, status: 401 });
    expect(withoutToken.headers['www-authenticate']).toMatch(/^Basic /);
    const foreignHost = await requestWith(port, { host: 'evil.test', authorization }, { path });
    expect({ path, status: foreignHost.status }).toEqual({ path, status: 421 });
  }
  expect((await requestWith(port, { host: 'localhost', authorization })).status).toBe(200);
});

test('the console serves only GET and HEAD, under a policy that forbids cookies and foreign hosts', async () => {
  const host = { host: 'localhost' };
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])
    expect((await requestWith(openAccess.port, host, { method })).status).toBe(405);
  for (const method of ['GET', 'HEAD']) {
    const { status, headers } = await requestWith(openAccess.port, host, { method });
    expect(status).toBe(200);
    expect(headers['set-cookie']).toBeUndefined();
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|data:|\*|http/);
  }
});

test('a console with default settings listens on loopback and ends at SIGTERM despite a connected client', async () => {
  const service = startService('console', { ...environment.variables, CONSOLE_PORT: '0', LOG_LEVEL: 'info' });
  const { url } = await service.logged('listening');
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
  // fetch keeps its connection open after the response.
  expect((await fetch(String(url))).status).toBe(200);
  expect(await service.stop()).toBe(0);
});
