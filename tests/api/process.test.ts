import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startCommand, startService } from '../../infra/service.ts';
import { errorCatalogue, type ErrorCode } from '../../services/api/http/error-catalogue.ts';
import { errorEnvelopeSchema } from '../../services/api/http/error-envelope.ts';
import { processesOf, readLiveReplicas } from '../../shared/control/processes.ts';
import { requestTracesOf } from '../../shared/control/request-traces.ts';
import { dayMs } from '../../shared/documents/instant.ts';
import { storeTime } from '../../shared/store/clock.ts';
import { eventually } from '../support/eventually.ts';
import { containing } from '../support/matchers.ts';
import { wrongClock } from '../support/wrong-clock.ts';
import { type ApiProcess, useApiProcesses } from './api-processes.ts';
import * as build from './builders.ts';
import { metricOf, open, send, untilClosed } from './raw-socket.ts';
import { ask, codeOf } from './requests.ts';
import { mongoUrl, tokens } from './test-api.ts';

const apis = useApiProcesses({ ticket: [build.ticket({ id: 'ti_1' })] });

test.each(['API_TLS_CERT', 'API_TLS_KEY'])(
  'the API exits with code 2 and names %s if its value is invalid',
  async (setting) => {
    const cert = join(apis.folder, 'none.pem');
    writeFileSync(cert, 'none');
    // The key itself is a frequent mistake for the path of its file. The error must not show the key.
    const invalid = setting === 'API_TLS_CERT' ? cert : '-----BEGIN hunter2';
    const settings = { ...apis.tls, MONGODB_URL: mongoUrl(), [setting]: invalid };
    const { exited, stderr } = startService('api', settings);
    expect({ code: await exited, stderr: stderr() }).toEqual({ code: 2, stderr: containing(setting) });
    expect(stderr()).not.toContain('hunter2');
  },
);

test('the API accepts only keys that begin with KEY_PREFIX', async () => {
  const token = 'rf_live_dddddddddddddddd';
  await build.store(apis.store.database, 'apiKey', [build.apiKey(token, { id: 'key_rf' })]);
  const api = await apis.start({ ...apis.tls, KEY_PREFIX: 'rf' });
  const get = (key: string) => ask(api, '/v1/tickets', { headers: { Authorization: `Bearer ${key}` } });
  await eventually(async () => (await get(token)).status === 200);
  expect((await get('replyful_live_dddddddddddddddd')).status).toBe(401);
  expect((await get(tokens.a)).status).toBe(401);
});

test('the API shows BRAND as the sending domain of a hosted channel', async () => {
  const channel = build.channel({ id: 'chan_hosted', type: 'email', email: build.forwardingConfig });
  await build.store(apis.store.database, 'channel', [channel]);
  const api = await apis.start({ ...apis.tls, BRAND: 'replyful' });
  const get = () => ask(api, '/v1/channels/chan_hosted');
  await eventually(async () => (await get()).status === 200);
  expect((await get()).text).toContain('"sendingDomain":"replyful"');
});

test('the API removes announcements that are older than an hour at its start', async () => {
  const replicas = processesOf(apis.store.control);
  const nowMs = (await storeTime(apis.store.control)).getTime();
  const announced = (_id: string, minutesAgo: number) =>
    replicas.updateOne({ _id }, { $set: { at: new Date(nowMs - minutesAgo * 60_000) } }, { upsert: true });
  await Promise.all([announced('lost', 61), announced('recent', 50)]);
  await apis.start({});
  await eventually(async () => (await replicas.countDocuments({ _id: 'lost' })) === 0);
  expect(await replicas.countDocuments({ _id: 'recent' })).toBe(1);
});

test('the API names its release in its log, metrics and announcement', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  const api = await apis.start({ ADMIN_PORT: '0', ADMIN_HOST: '127.0.0.1' });
  const listening = await api.logged('admin server listening');
  expect(listening).toMatchObject({ service: 'api', release: version });
  expect(await metricOf(api, `support_build_info{release="${version}"}`)).toBe(1);
  const replicas = () => readLiveReplicas(apis.store.control, new Date(0));
  const announced = async () => (await replicas()).filter(({ pid }) => pid === api.pid);
  await eventually(async () => (await announced()).length > 0);
  expect(await announced()).toMatchObject([{ release: version }]);
});

test('the admin server listens only at ADMIN_HOST', async () => {
  const api = await apis.start({ ADMIN_PORT: '0', ADMIN_HOST: '127.0.0.1' });
  const { port } = await api.logged('admin server listening');
  await expect(fetch(`http://127.0.0.2:${String(port)}/livez`)).rejects.toThrow('fetch failed');
});

test('the expiry of data follows the clock of MongoDB although the clock of the API is a year ahead', async () => {
  const channel = { id: 'chan_1', name: 'Support', type: 'email', dataRetentionDays: 30 } as const;
  const joined = build.conversationJoined({ channel });
  const storeNow = await storeTime(apis.store.control);
  await build.store(apis.store.database, 'conversation', [
    build.conversation({ id: 'conv_new', updatedAt: storeNow.toISOString() }, { joined }),
  ]);
  const api = await apis.start({ ...apis.tls, ...wrongClock({ fromStartMs: 365 * dayMs }) });
  await eventually(async () => (await ask(api, '/v1/tickets')).status === 200);
  expect((await ask(api, '/v1/conversations/conv_new')).status).toBe(200);
});

test('the expiry of traces follows the clock of MongoDB although the clock of the API is a year late', async () => {
  const api = await apis.start({ ...apis.tls, ...wrongClock({ fromStartMs: -365 * dayMs }) });
  const { headers } = await ask(api, '/health');
  const batches = requestTracesOf(apis.store.control);
  const trace = () => batches.findOne({ 'traces._id': String(headers['request-id']) });
  await eventually(async () => (await trace()) !== null);
  const nowMs = (await storeTime(apis.store.control)).getTime();
  const keptMs = Number((await trace())?.expiresAt) - nowMs;
  expect(keptMs / dayMs).toBeCloseTo(90, 1);
});

test('the API warns if its limits need more file descriptors than it may open', async () => {
  const script = 'ulimit -n 200 && exec "$0" services/api/main.ts';
  const settings = {
    MONGODB_URL: mongoUrl(),
    API_HOST: '127.0.0.1',
    API_PORT: '0',
    API_CONNECTIONS_MAX: '300',
  };
  const limited = startCommand(['sh', '-c', script, process.execPath], settings, 'api');
  const warning = await limited.logged('this process may open too few file descriptors for its connections');
  expect(warning).toMatchObject({ level: 'warn', limit: 200, needed: 424 });
  await limited.stop();
});

test('the API answers all requests without a key but logs a bounded number of them', async () => {
  const settings = { API_TRUSTED_PROXIES: '127.0.0.1' };
  const api = await apis.start(settings);
  await eventually(async () => (await ask(api, '/v1/tickets')).status === 200);
  const rounds = 300;
  const idsWithoutKey: unknown[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const missing = await ask(api, '/v1/tickets', { headers: { Authorization: '' } });
    expect(codeOf(missing.text)).toBe('missing_api_key');
    const plain = await ask(api, '/v1/tickets', { headers: { 'X-Forwarded-Proto': 'http' } });
    expect(codeOf(plain.text)).toBe('https_required');
    expect(await send(api, 'nonsense\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /);
    idsWithoutKey.push(missing.headers['request-id'], plain.headers['request-id']);
  }
  const withKey = await ask(api, '/v1/tickets?limit=1');
  await api.stop();
  const isLogged = (id: unknown) => api.log.some(({ requestId }) => requestId === id);
  expect(isLogged(withKey.headers['request-id'])).toBe(true);
  const unparsed = api.log.filter(({ msg }) => msg === 'request that could not be parsed');
  // The log has at most two of the three requests of each round.
  expect(idsWithoutKey.filter(isLogged).length + unparsed.length).toBeLessThanOrEqual(2 * rounds);
  const reports = api.log.filter(({ msg }) => msg === 'requests without a key were left out of the log');
  const leftOut = reports.reduce((sum, { requests }) => sum + Number(requests), 0);
  expect(leftOut).toBeGreaterThanOrEqual(rounds);
});

describe('an API with a certificate', () => {
  let api: ApiProcess;
  beforeAll(async () => {
    api = await apis.start({ ...apis.tls, API_BASE_URL: 'https://api.example.com/' });
  });

  test('the API closes a connection in plain HTTP after one https_required', async () => {
    await eventually(async () => (await ask(api, '/v1/tickets')).status === 200);
    expect(api.log.find(({ msg }) => msg === 'listening')).toMatchObject({ scheme: 'https', port: api.port });
    for (const path of ['/v1/tickets', '/health']) {
      const bytes = `GET ${path} HTTP/1.1\r\nHost: a\r\nX-Forwarded-Proto: https\r\n\r\n`.repeat(2_500);
      const text = await send(api, bytes, false);
      const [head = '', body = '', ...more] = text.split('\r\n\r\n');
      expect({ code: codeOf(body), more }).toEqual({ code: 'https_required', more: [] });
      expect(head).toMatch(/^HTTP\/1.1 403 [^]*\r\nConnection: close$/);
      expect(body).toContain('"docUrl":"https://api.example.com/docs/errors/https_required"');
    }
  });

  const transferCoding = (coding: string) => ({
    code: 'malformed_request' as const,
    request: `a body that is ${coding}`,
    bytes: `GET /health HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ${coding}`,
  });
  test.each<{ code: ErrorCode; request: string; bytes: string }>([
    { code: 'malformed_request', request: 'bytes that are not HTTP', bytes: 'nonsense' },
    {
      code: 'malformed_request',
      request: 'a method that does not exist',
      bytes: 'BREW /v1/tickets HTTP/1.1\r\nHost: a',
    },
    {
      code: 'headers_too_large',
      request: 'long headers',
      bytes: `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(40_000)}`,
    },
    { code: 'method_not_allowed', request: 'CONNECT', bytes: 'CONNECT a:1 HTTP/1.1\r\nHost: a' },
    {
      code: 'malformed_request',
      request: 'an invalid chunk size',
      bytes: 'POST /v1/tickets HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz',
    },
    ...['gzip', 'gzip, chunked', 'x'].map(transferCoding),
  ])('the API answers the error $code to $request', async ({ code, bytes }) => {
    const text = await send(api, `${bytes}\r\n\r\n`);
    const [head = '', body = ''] = text.split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${errorCatalogue[code].status} `));
    expect(codeOf(body)).toBe(code);
    expect(head).toMatch(/^Date: \w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT$/m);
    expect(head).toContain(`Request-Id: ${errorEnvelopeSchema.parse(JSON.parse(body)).error.requestId}`);
  });

  test('the API answers a request with a body of 5 MB', async () => {
    const body = Buffer.alloc(5_000_000, 'x');
    for (let times = 0; times < 5; times += 1) {
      const socket = await open(api, true);
      const received = untilClosed(socket);
      socket.write(`POST /health HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`);
      socket.write(body);
      expect(await received).toMatch(/^HTTP\/1.1 405 /);
    }
  });

  test('the API continues after a connection that is reset before its first byte', async () => {
    const socket = await open(api, false);
    // The API accepts connections in their order.
    await ask(api, '/health');
    socket.resetAndDestroy();
    expect((await ask(api, '/health')).status).toBe(200);
  });

  test.each([true, false])('the API sends HSTS only over TLS: %s', async (secure) => {
    for (const line of ['nonsense', 'GET /health HTTP/1.0', 'GET /nothing HTTP/1.0']) {
      const text = await send(api, `${line}\r\n\r\n`, secure);
      expect(text).toMatch(/^HTTP\/1\.[01] \d{3} /);
      expect(text.includes('Strict-Transport-Security: max-age=31536000')).toBe(secure);
    }
  });
});
