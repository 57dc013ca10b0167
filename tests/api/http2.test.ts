import { mkdirSync, mkdtempSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { requestTracesOf } from '../../shared/store/request-traces.ts';
import { metricsOf } from './raw-socket.ts';
import { ask, codeOf, writeCertificate } from './requests.ts';
import { eventually } from '../support/eventually.ts';
import { useApiProcesses, type ApiProcess } from './api-processes.ts';
import * as build from './builders.ts';
import { tokens } from './test-api.ts';

const size = 4_000;
const content = 'Lorem ipsum dolor sit amet. '.repeat(12);
const children = useApiProcesses({
  ticket: [build.ticket({ id: 'ti_1' })],
  conversation: [build.conversation({ id: 'conv_1' })],
  message: Array.from({ length: size }, (_, index) =>
    build.message({ id: `msg_${String(index).padStart(6, '0')}`, content }),
  ),
});
let folder: string;
let child: ApiProcess;
let session: ClientHttp2Session;

const certificateIn = async (name: string) => {
  mkdirSync(join(folder, name));
  await writeCertificate(join(folder, name));
};
/** Like a Kubernetes volume: the files are links through another link, which is replaced. */
const switchTo = (name: string) => {
  symlinkSync(name, join(folder, 'next'));
  renameSync(join(folder, 'next'), join(folder, 'current'));
};

beforeAll(async () => {
  folder = mkdtempSync(join(children.folder, 'volume-'));
  await certificateIn('first');
  switchTo('first');
  child = await children.startServing({
    API_TLS_CERT: join(folder, 'current', 'cert.pem'),
    API_TLS_KEY: join(folder, 'current', 'key.pem'),
  });
  session = connect(`https://127.0.0.1:${child.port}`, { rejectUnauthorized: false });
});

afterAll(() => session.destroy());

const open = (headers: Record<string, string>) =>
  session.request({ ':path': '/v1/tickets', authorization: `Bearer ${tokens.a}`, ...headers });
const get = (headers: Record<string, string> = {}) =>
  new Promise<{ headers: IncomingHttpHeaders & { ':status'?: number | undefined }; text: string }>(
    (resolve, reject) => {
      const stream = open(headers).setEncoding('utf8').on('error', reject);
      stream.on('response', (received) => {
        let text = '';
        stream
          .on('data', (chunk: string) => (text += chunk))
          .on('end', () => resolve({ headers: received, text }));
      });
    },
  );
const requestLines = () => child.log.filter(({ msg }) => msg === 'request');

describe('over HTTP/2', () => {
  it('answers as over HTTP/1.1, which the same port serves too', async () => {
    const [answer, older] = [await get(), await ask(child, '/v1/tickets')];
    expect([answer.headers[':status'], answer.text]).toEqual([200, older.text]);
    for (const name of [
      'content-type',
      'content-length',
      'cache-control',
      'etag',
      'vary',
      'x-content-type-options',
    ]) {
      expect([name, answer.headers[name]]).toEqual([name, older.headers[name]]);
    }
    const tag = String(answer.headers.etag);
    expect((await get({ 'if-none-match': tag })).headers[':status']).toBe(304);
    const head = await get({ ':method': 'HEAD' });
    expect([head.headers[':status'], head.headers.etag, head.text]).toEqual([200, tag, '']);
    const id = answer.headers['request-id'];
    await eventually(async () => requestLines().some(({ requestId }) => requestId === id));
    expect(requestLines().find(({ requestId }) => requestId === id)).not.toHaveProperty('aborted');
  });

  it('answers errors in the envelope', async () => {
    for (const [headers, status, code] of [
      [{ authorization: 'Basic x' }, 401, 'missing_api_key'],
      [{ ':path': '/v1/tickets/%zz' }, 422, 'invalid_path_parameter'],
      [{ ':path': '/v1/%zz' }, 400, 'malformed_request'],
      [{ ':path': '/nothing' }, 404, 'route_not_found'],
      [{ ':method': 'DELETE' }, 405, 'method_not_allowed'],
      [{ ':method': 'BREW' }, 405, 'method_not_allowed'],
      [{ ':method': 'BREW', ':path': '/nothing' }, 404, 'route_not_found'],
      [{ ':path': `/v1/channels/${'x'.repeat(9_000)}` }, 414, 'uri_too_long'],
    ] as const) {
      const answer = await get(headers);
      expect([answer.headers[':status'], codeOf(answer.text)]).toEqual([status, code]);
    }
    const { text } = await get({ ':authority': 'api.example.com', ':path': '/nothing' });
    expect(text).toContain(`"docUrl":"https://localhost:${child.port}/docs/errors/route_not_found"`);
  });

  it('resets a stream whose headers exceed the limit, and continues', async () => {
    await expect(get({ 'x-long': 'x'.repeat(40_000) })).rejects.toThrow();
    expect((await get()).headers[':status']).toBe(200);
  });

  it('streams many long conversations at once, and stops one that the client resets', async () => {
    const long = { ':path': '/v1/conversations/conv_1', 'accept-encoding': 'identity' };
    const texts = await Promise.all(Array.from({ length: 3 }, async () => (await get(long)).text));
    for (const text of texts)
      expect((JSON.parse(text) as { messages: unknown[] }).messages).toHaveLength(size);
    const aborted = () => requestLines().filter((line) => line.aborted === true).length;
    const before = aborted();
    const stream = open(long).on('error', () => undefined);
    await new Promise((resolve) => stream.once('data', resolve));
    stream.close(8);
    await eventually(async () => aborted() > before);
    expect((await get()).headers[':status']).toBe(200);
  });
});

/** HTTP/2 takes any token as a method, so each label, log field and trace field has a fixed set of values. */
it.each([
  ['with a key', {}],
  ['without one', { authorization: 'none' }],
])('unknown methods %s are counted, logged and traced as one', async (_, headers) => {
  const methods = Array.from({ length: 100 }, (__, index) => `LOVELACE${index}`);
  const answers = await Promise.all(methods.map((method) => get({ ':method': method, ...headers })));
  const ids = answers.map((answer) => String(answer.headers['request-id']));
  const lines = () => child.log.filter(({ requestId }) => ids.includes(String(requestId)));
  await eventually(async () => lines().length === ids.length);
  expect(new Set(lines().map(({ method }) => method))).toEqual(new Set(['other']));

  const metrics = await metricsOf(child);
  expect(metrics).not.toContain('LOVELACE');
  expect(metrics).toMatch(
    /api_request_duration_seconds_count\{method="other",route="[^"]+",status="40[15]"\} /,
  );

  const traces = requestTracesOf(children.store.control);
  await eventually(async () => (await traces.countDocuments({ _id: { $in: ids } })) === ids.length);
  expect(await traces.distinct('method', { _id: { $in: ids } })).toEqual(['other']);
});

it.each(['http/1.0', 'http/1.1', 'h2'])('serves a client that supports only %s', async (protocol) => {
  const agreed = await new Promise((resolve, reject) => {
    const options = { port: child.port, host: '127.0.0.1', rejectUnauthorized: false };
    const socket = connectTls({ ...options, ALPNProtocols: [protocol] }, () => {
      resolve(socket.alpnProtocol);
      socket.destroy();
    }).on('error', reject);
  });
  expect(agreed).toBe(protocol);
});

describe('a replaced certificate', () => {
  const fingerprint = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connectTls({ port: child.port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
        resolve(socket.getPeerCertificate().fingerprint256);
        socket.destroy();
      }).on('error', reject);
    });

  it('is used for new connections, unless it does not match its key; open connections stay', async () => {
    const first = await fingerprint();
    await certificateIn('broken');
    writeFileSync(join(folder, 'broken', 'key.pem'), 'none');
    switchTo('broken');
    await eventually(async () =>
      child.log.some(({ msg }) => msg?.startsWith('new certificate rejected') === true),
    );
    expect(await fingerprint()).toBe(first);
    await certificateIn('second');
    switchTo('second');
    await eventually(async () => child.log.some(({ msg }) => msg === 'new certificate in use'));
    expect(await fingerprint()).not.toBe(first);
    expect((await get()).headers[':status']).toBe(200);
  });
});

it('finishes requests in progress at shutdown, and tells clients to disconnect', async () => {
  const going = new Promise((resolve) => session.once('goaway', resolve));
  const stream = open({ ':path': '/v1/conversations/conv_1', 'accept-encoding': 'identity' }).setEncoding(
    'utf8',
  );
  let text = '';
  const ended = new Promise((resolve) => stream.once('end', resolve));
  await new Promise((resolve) => {
    stream.on('data', (chunk: string) => resolve((text += chunk)));
  });
  const exit = child.stop();
  await going;
  await ended;
  expect((JSON.parse(text) as { messages: unknown[] }).messages).toHaveLength(size);
  expect(await exit).toBe(0);
});
