import { startService } from '../../infra/service.ts';
import { createTestEnvironment } from '../support/test-environment.ts';
import { useOpened } from '../support/use-opened.ts';
import { openConsole, requestWith } from './test-console.ts';

const token = 'a-token-of-thirty-two-characters';

const environment = useOpened(() => createTestEnvironment(1));

const open = useOpened(() => openConsole(environment.environment));
const guarded = useOpened(() => openConsole({ ...environment.environment, CONSOLE_TOKEN: token }));

test('every path refuses a request without the token, and one for another host', async () => {
  const { port } = guarded;
  const authorization = `Bearer ${token}`;
  for (const path of ['/', '/lag', '/assets/site.css', '/unknown']) {
    const answer = await requestWith(port, { host: 'localhost' }, { path });
    expect({ path, status: answer.status }).toEqual({ path, status: 401 });
    expect(answer.headers['www-authenticate']).toMatch(/^Basic /);
    expect((await requestWith(port, { host: 'evil.test', authorization }, { path })).status).toBe(421);
  }
  expect((await requestWith(port, { host: 'localhost', authorization })).status).toBe(200);
});

test('only GET and HEAD are served, without cookies, under a policy that allows no other host', async () => {
  const host = { host: 'localhost' };
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])
    expect((await requestWith(open.port, host, { method })).status).toBe(405);
  for (const method of ['GET', 'HEAD']) {
    const { status, headers } = await requestWith(open.port, host, { method });
    expect(status).toBe(200);
    expect(headers['set-cookie']).toBeUndefined();
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|data:|\*|http/);
  }
});

test('the console listens on loopback by default, and ends at SIGTERM while a client is connected', async () => {
  const service = startService('console', {
    ...environment.environment,
    CONSOLE_PORT: '0',
    LOG_LEVEL: 'info',
  });
  const { url } = await service.logged('listening');
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
  expect((await fetch(String(url))).status).toBe(200);
  expect(await service.stop()).toBe(0);
});
