import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import Koa from 'koa';
import { selfSigned } from '../../../infra/certificate.ts';
import { createLogger } from '../../../shared/runtime/logger.ts';
import { compression } from '../middleware/compression.ts';
import { concurrencyLimit } from '../middleware/concurrency-limit.ts';
import { serveConnections } from '../server/connections.ts';
import { answerUnparsed } from '../server/parser-errors.ts';
import { acceptTls, type Credentials } from '../server/tls.ts';
import type { RequestState } from './context.ts';
import { streamBody } from './send-answer.ts';

const host = '127.0.0.1';
const request = 'GET / HTTP/1.0\r\nHost: a\r\n';
const logger = createLogger('test', 'silent');

let credentials: Credentials;
beforeAll(async () => {
  credentials = await selfSigned();
});

/** A server whose response has begun, and ends only if `body` does. No connection is silent for too long. */
async function serve({ isTls }: { isTls: boolean }) {
  const clock = { nowMs: 0 };
  const nowMs = () => clock.nowMs;
  const body = new Readable({ read: () => undefined });
  const app = new Koa<RequestState>();
  app.on('error', () => undefined);
  app.use((context, next) => {
    Object.assign(context.state, { caller: { orgId: 'org_1', keyId: 'key_1' }, responseBytes: 0 });
    return next();
  });
  app.use(compression);
  app.use(concurrencyLimit({ requestsMax: 20, budget: { isHalfUsed: () => true }, nowMs }));
  app.use((context) => streamBody(context, body));
  const server = createServer().setTimeout(0);
  served = server;
  /** The sockets of the requests, at the server. */
  const sockets: Socket[] = [];
  server.on('request', ({ socket }) => sockets.push(socket));
  const unparsed = { logger, docs: {} as never, trace: null, admitKeyless: () => true };
  server.on('clientError', (error, socket) => answerUnparsed(unparsed, error, socket));
  if (isTls) acceptTls(server, credentials, (socket) => socket.destroy());
  const connectionsRefused = { inc: () => undefined };
  const { stop } = serveConnections(server, { logger, connectionsRefused, nowMs }, app.callback());
  await once(server.listen(0, host), 'listening');
  return { server, isTls, port: (server.address() as AddressInfo).port, stop, body, clock, sockets };
}

type Serving = Awaited<ReturnType<typeof serve>>;

let served: Server | undefined;
afterEach(() => {
  served?.close();
  served?.closeAllConnections();
});

const connectTo = ({ port, isTls }: Serving): Socket =>
  isTls ? connectTls({ port, host, rejectUnauthorized: false }) : connect(port, host);

/** How the connection ends for its client: the code of an error, or `closed` if all looks well. */
const endOf = (socket: Socket) =>
  new Promise<string>((resolve) => {
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)));
    socket.once('end', () => resolve('closed'));
  });

/** Lets the 15 seconds pass that clients have at a stop. */
function stopAtOnce({ stop }: Serving): void {
  jest.useFakeTimers({
    doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'setInterval', 'performance', 'Date'],
  });
  void stop();
  jest.advanceTimersByTime(15_000);
  jest.useRealTimers();
}

const ways: Record<string, (serving: Serving, socket: Socket) => unknown> = {
  'its stream fails': ({ body }) => body.destroy(new Error('the store is away')),
  'it is taken too slowly while room is scarce': (serving) => {
    serving.clock.nowMs = 3_600_000;
    connectTo(serving)
      .on('error', () => undefined)
      .write(`${request}\r\n`);
  },
  'the service stops': stopAtOnce,
  'its connection is silent for too long': ({ sockets }) => sockets.map((socket) => socket.setTimeout(1)),
  'its client sends something else than a request': (_, socket) => socket.write('\0'.repeat(100)),
  'its client ends its side': (_, socket) => socket.end(),
};

describe.each([
  ['plain HTTP', false],
  ['TLS', true],
])('over %s, a response that has begun is reset', (_, isTls) => {
  test.each(Object.entries(ways))('if %s: to HTTP/1.0 a close would be its end', async (_way, interrupt) => {
    const serving = await serve({ isTls });
    const socket = connectTo(serving);
    socket.write(`${request}\r\n`);
    serving.body.push('{"object":"conversation",');
    const received = String((await once(socket, 'data'))[0]);
    expect(received).toMatch(/^HTTP\/1.1 200 OK.*conversation",$/s);
    const ended = endOf(socket);
    interrupt(serving, socket);
    expect(await ended).toBe('ECONNRESET');
  });

  test('with compression, too', async () => {
    const serving = await serve({ isTls });
    const socket = connectTo(serving);
    socket.write(`${request}Accept-Encoding: gzip\r\n\r\n`);
    // Random text, of which the encoder passes on a part.
    serving.body.push(randomBytes(200_000).toString('base64'));
    await once(socket, 'data');
    const ended = endOf(socket.resume());
    serving.body.destroy(new Error('the store is away'));
    expect(await ended).toBe('ECONNRESET');
  });

  test('but a complete one ends in order', async () => {
    const serving = await serve({ isTls });
    const socket = connectTo(serving);
    socket.write(`${request}\r\n`);
    serving.body.push('all');
    serving.body.push(null);
    expect(await text(socket)).toMatch(/all$/);
  });
});
