import { once } from 'node:events';
import { type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer as bytesOf } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import Koa from 'koa';
import { eventually } from '../../../tests/support/eventually.ts';
import { compression, type Encoder, zlibEncoders } from '../middleware/compression.ts';
import type { RequestState } from './context.ts';
import { dispatch } from './dispatch.ts';
import type { Route } from './route.ts';

const piece = 'x'.repeat(32_768);
const long = 20;
let ended = 0;

async function* pieces(count: number, fails = false): AsyncGenerator<string, void> {
  try {
    for (let index = 0; index < count; index += 1) yield piece;
    if (fails) throw new Error('the store went away');
  } finally {
    ended += 1;
  }
}

/** Each character takes three bytes. */
const wide = '漢'.repeat(100_000);
async function* widePieces(): AsyncGenerator<string, void> {
  for (;;) yield wide;
}

/** Only the path decides which route a request reaches. */
const route = (path: string, reply: () => object) =>
  ({ path, respond: async () => reply() }) as unknown as Route;

/** The bytes that the budget counts, of streams and of a buffered response. */
let held = 0;
const hold = (bytes: number) => {
  held += bytes;
  return () => {
    held -= bytes;
  };
};

/** Encodes gzip. */
let gzip: Encoder;
const encoders = {
  br: zlibEncoders.br,
  get gzip() {
    return gzip;
  },
};

let server: Server;
let state: RequestState;
let interrupted: string[];
let caller: { keyId: string; orgId: string };
let port: number;
beforeAll(async () => {
  const app = new Koa<RequestState>();
  app.use((context, next) => {
    state = Object.assign(context.state, { caller, store: { hold }, responseBytes: 0 });
    return next();
  });
  app.use(compression(encoders));
  const routes = [
    route('/short', () => ({ chunks: pieces(2) })),
    route('/long', () => ({ chunks: pieces(long) })),
    route('/endless', () => ({ chunks: pieces(10_000) })),
    route('/failing', () => ({ chunks: pieces(long, true) })),
    route('/wide', () => ({ body: wide })),
    route('/wide-long', () => ({ chunks: widePieces() })),
  ];
  app.use(dispatch({ baseUrl: undefined, routes }));
  app.on('error', ({ message }: Error) => interrupted.push(message));
  server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));
beforeEach(() => {
  ended = 0;
  held = 0;
  gzip = zlibEncoders.gzip;
  interrupted = [];
  caller = { keyId: 'key_1', orgId: 'org_1' };
});

const open = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  new Promise<IncomingMessage>((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, method, headers, agent: false }, resolve)
      .on('error', reject)
      .end();
  });

const unpack: Record<string, (bytes: Buffer) => Buffer> = {
  identity: (bytes) => bytes,
  gzip: (bytes) => gunzipSync(bytes),
  br: (bytes) => brotliDecompressSync(bytes),
};

describe.each(Object.keys(unpack))('a chunked reply, sent as %s', (encoding) => {
  const headers = { 'Accept-Encoding': encoding };

  test('is sent in one piece with an ETag if the text is short', async () => {
    const response = await open('/short', headers);
    expect(unpack[encoding]?.(await bytesOf(response)).length).toBe(2 * piece.length);
    expect(response.headers.etag).toMatch(/^W\//);
  });

  test('is streamed to the end without an ETag if the text is long', async () => {
    const response = await open('/long', headers);
    expect(unpack[encoding]?.(await bytesOf(response)).length).toBe(long * piece.length);
    expect(state.responseBytes).toBe(long * piece.length);
    expect(response.headers.etag).toBeUndefined();
    expect(response.headers['content-length']).toBeUndefined();
    expect(ended).toBe(1);
  });

  test('that fails in the middle closes the connection and logs the error', async () => {
    await expect(open('/failing', headers).then(bytesOf)).rejects.toThrow();
    expect(ended).toBe(1);
    expect(state.failure).toMatchObject({ message: 'the store went away' });
    await eventually(() => interrupted.length > 0);
    expect(interrupted).toEqual(['the store went away']);
  });

  test('ends when the client leaves', async () => {
    const response = await open('/endless', headers);
    response.destroy();
    await eventually(() => ended === 1);
  });

  test.each(['/short', '/long'])('answers HEAD with the headers of GET: %s', async (path) => {
    const get = await open(path, headers);
    await bytesOf(get);
    const head = await open(path, headers, 'HEAD');
    expect(await bytesOf(head)).toHaveLength(0);
    const { date: _got, 'transfer-encoding': _chunked, ...expected } = get.headers;
    const { date: _headed, 'transfer-encoding': _none, ...found } = head.headers;
    expect({ status: head.statusCode, headers: found }).toEqual({
      status: get.statusCode,
      headers: expected,
    });
    await eventually(() => ended === 2);
  });
});

describe('a reply for which zlib has no memory', () => {
  const headers = { 'Accept-Encoding': 'gzip' };
  const noMemory = new Error('no memory');
  const fail = () => {
    throw noMemory;
  };

  test.each([
    { name: 'a buffer', path: '/short', count: 2 },
    { name: 'a stream', path: '/long', count: long },
  ])('is sent uncompressed: $name', async ({ path, count }) => {
    gzip = { sync: fail, async: () => Promise.reject(noMemory), stream: fail };
    const response = await open(path, headers);
    expect(response.statusCode).toBe(200);
    expect(response.headers['content-encoding']).toBeUndefined();
    expect(await bytesOf(response)).toHaveLength(count * piece.length);
  });

  test('that has begun closes the connection and logs the error', async () => {
    const encoder = zlibEncoders.gzip.stream();
    gzip = { ...zlibEncoders.gzip, stream: () => encoder };
    const response = await open('/endless', headers);
    encoder.destroy(noMemory);
    await expect(bytesOf(response)).rejects.toThrow();
    await eventually(() => ended === 1 && interrupted.length > 0);
    expect(state.failure).toBe(noMemory);
    expect(interrupted).toEqual([noMemory.message]);
  });
});

test('a route has no scope without an organization', async () => {
  caller.orgId = '';
  const response = await open('/short');
  expect(response.resume().statusCode).toBe(500);
  expect(ended).toBe(0);
});

describe('the memory of a response', () => {
  test('is counted in bytes if it is buffered', async () => {
    await bytesOf(await open('/wide'));
    const bytes = Buffer.byteLength(JSON.stringify(wide));
    expect(held).toBe(bytes);
    expect(state.responseBytes).toBe(bytes);
  });

  test('is counted in bytes while a stream waits for its client', async () => {
    const response = await open('/wide-long');
    expect(held).toBeGreaterThanOrEqual(Buffer.byteLength(wide));
    response.destroy();
  });
});
