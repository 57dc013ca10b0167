import { eventually } from '../support/eventually.ts';
import { type ApiProcess, useApiProcesses } from './api-processes.ts';
import * as build from './builders.ts';
import { send } from './raw-socket.ts';
import { ask, codeOf } from './requests.ts';
import { tokens } from './test-api.ts';

const apis = useApiProcesses({ ticket: [build.ticket({ id: 'ti_1' })] });

describe('an API behind a proxy', () => {
  let api: ApiProcess;
  beforeAll(async () => {
    api = await apis.start({ API_TRUSTED_PROXIES: '10.0.0.0/8,127.0.0.1' });
    await eventually(async () => (await via('/v1/tickets')).status === 200);
  });
  const via = (path: string, headers: Record<string, string> = {}) => ask(api, path, { headers });

  const sendWithHosts = (hosts: string) =>
    send(api, `GET /health HTTP/1.1\r\n${hosts}Connection: close\r\n\r\n`);

  test.each([
    { name: 'none', hosts: '' },
    { name: 'two', hosts: 'Host: a\r\nhost: b\r\n' },
    { name: 'one that is not a host name', hosts: 'Host: "><script>\r\n' },
    { name: 'one with a path', hosts: 'Host: a/b\r\n' },
  ])('the API requires one host from HTTP/1.1: $name', async ({ hosts }) => {
    const [head = '', body = ''] = (await sendWithHosts(hosts)).split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1.1 400 /);
    expect(codeOf(body)).toBe('malformed_request');
  });

  test.each(['', 'a', 'a_b.example:80', '[::1]:8080', '127.0.0.1'])(
    'the API accepts the host "%s"',
    async (name) => {
      expect(await sendWithHosts(`Host: ${name}\r\n`)).toMatch(/^HTTP\/1.1 200 /);
    },
  );

  test('the API refuses a second Authorization header, because a gateway may have checked another one', async () => {
    const authorization = `Authorization: Bearer ${tokens.a}\r\n`;
    const head = 'GET /v1/tickets HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\nConnection: close\r\n';
    expect(await send(api, `${head}${authorization}\r\n`)).toMatch(/^HTTP\/1.1 200 /);
    const refused = await send(api, `${head}${authorization}authorization: Bearer x\r\n\r\n`);
    expect(refused).toMatch(/^HTTP\/1.1 400 /);
    const [, body = ''] = refused.split('\r\n\r\n');
    expect(codeOf(body)).toBe('malformed_request');
  });

  test('the API trusts only the scheme that the proxy has added', async () => {
    const schemes = ['https', 'http', 'https, http'];
    const answers = await Promise.all(
      schemes.map((scheme) => via('/v1/nothing', { 'X-Forwarded-Proto': scheme })),
    );
    expect(answers.map(({ status }) => status)).toEqual([404, 403, 403]);
    const sent = answers.map(({ headers }) => 'strict-transport-security' in headers);
    expect(sent).toEqual([true, false, false]);
  });

  test('the API logs one line per request without tokens or queries', async () => {
    await via('/v1/tickets?status=secretive');
    await via('/v1/tickets?startingAfter=svc_live_secretive');
    await via('/v1/channels/secretive@example.com');
    const secrets = { Authorization: 'Bearer svc_live_secretive', 'X-Mail': 'secretive@example.com' };
    await via('/v1/tickets', secrets);
    const { headers } = await via('/v1/tickets?cursor=secretive');
    const lines = () => api.log.filter(({ requestId }) => requestId === headers['request-id']);
    await eventually(() => lines().length > 0);
    expect(lines()).toMatchObject([{ method: 'GET', status: 422, keyId: 'key_a', orgId: 'org_a' }]);
    expect(JSON.stringify(api.log)).not.toMatch(/secretive|svc_live|svc_test/);
  });
});
