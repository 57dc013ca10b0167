import { createServer, request as forward, type Server } from 'node:http';
import { ConnectionError } from '../../clients/typescript/src/errors.ts';
import { listen } from '../../shared/runtime/listen.ts';
import * as build from '../api/builders.ts';
import { useApi } from '../api/test-api.ts';
import { matching } from '../support/matchers.ts';
import { refusalCount, startRefusingProxy } from '../support/refusing-proxy.ts';
import { connect, rejectionOf } from './test-client.ts';

const api = useApi({ ticket: ['ti_1', 'ti_2', 'ti_3', 'ti_4'].map((id) => build.ticket({ id })) });

/** Creates a fetch that sends the first responses itself, like a proxy before the API, and then calls the API. */
const respondFirst = (responses: (() => Response | Promise<Response>)[]): typeof fetch => {
  const remaining = [...responses];
  return async (url, init) => (await remaining.shift()?.()) ?? fetch(url, init);
};

test('the client sends its requests in order after a 429 has held them', async () => {
  const error = { code: 'too_many_requests', message: 'm' };
  const limited = () => Response.json({ error }, { status: 429, headers: { 'Retry-After': '7' } });
  const { client, waitsMs, requested } = connect({
    baseUrl: api.url,
    fetch: respondFirst([limited, limited]),
  });
  const requests = ['ti_1', 'ti_2', 'ti_3', 'ti_4'].map((id) => client.tickets.retrieve(id));
  expect(waitsMs).toEqual([]);
  const controller = new AbortController();
  const aborted = client.tickets.retrieve('ti_5', { signal: controller.signal });
  controller.abort(new Error('enough'));
  expect(await rejectionOf(aborted)).toEqual(new Error('enough'));
  const responses = await Promise.all(requests);
  expect(responses.map(({ data }) => data.id)).toEqual(['ti_1', 'ti_2', 'ti_3', 'ti_4']);
  expect(requested.slice(-2)).toEqual(['/v1/tickets/ti_1', '/v1/tickets/ti_2']);
});

test('a connection error names the base URL and the reason', async () => {
  const messageOf = async (baseUrl: string, cause: unknown) => {
    const fetch = () => Promise.reject(new TypeError('fetch failed', { cause }));
    const { client } = connect({ baseUrl, fetch, retries: 0 });
    const error = (await rejectionOf(client.qas.list())) as Error;
    return error.message;
  };
  const unknownHost = Object.assign(new Error('getaddrinfo ENOTFOUND api.invalid'), { code: 'ENOTFOUND' });
  expect(await messageOf('https://api.invalid', unknownHost)).toMatch(
    /^There is no API at https:.*ENOTFOUND/,
  );
  const refusedConnection = new AggregateError([new Error('connect ECONNREFUSED ::1:8080')]);
  expect(await messageOf('http://localhost:8080', refusedConnection)).toMatch(
    /Reason: connect ECONNREFUSED ::1:8080$/,
  );
  expect(await messageOf('https://api.example.com', new Error('self-signed certificate'))).toBe(
    'https://api.example.com could not be reached, or the connection broke. Reason: self-signed certificate',
  );
});

test('the client retries after each form of Retry-After that a server before the API may send', async () => {
  const proxy = await startRefusingProxy(api.url);
  const { client, waitsMs } = connect({ baseUrl: proxy.url });
  const { data } = await client.tickets.list().finally(proxy.close);
  expect(proxy.refusals()).toBe(refusalCount);
  expect(data).toHaveLength(4);
  // The date is at most a second ahead. The client also reads `1, 2` and `1.5`. Without a value it waits half of 4 s.
  expect(waitsMs[0]).toBeLessThanOrEqual(1_250);
  expect(waitsMs.slice(1)).toEqual([1_500, 2_000, 2_000]);
});

test.each([1, 0])('a caller can limit the retries of a request to %d', async (retries) => {
  const { client, requested } = connect({
    baseUrl: 'http://localhost',
    fetch: () => Promise.resolve(new Response('', { status: 503 })),
  });
  expect(await rejectionOf(client.tickets.list({}, { retries }))).toMatchObject({ status: 503 });
  expect(requested).toHaveLength(1 + retries);
  expect(await rejectionOf(client.tickets.list({}, { retries: -1 }))).toBeInstanceOf(TypeError);
});

test.each([
  { name: 'a 403 of a proxy', respond: () => new Response('no', { status: 403 }), status: 403 },
  { name: 'a page where the API should be', respond: () => new Response('<h1>Welcome</h1>'), status: 200 },
  { name: 'JSON of something else', respond: () => Response.json({ data: [] }), status: 200 },
])('the client throws for $name without a retry', async ({ respond, status }) => {
  const { client, requested } = connect({ baseUrl: 'http://localhost', fetch: respondFirst([respond]) });
  expect(await rejectionOf(client.tickets.list())).toMatchObject({ name: 'ApiError', status, code: null });
  expect(requested).toHaveLength(1);
});

const cutResponse = () =>
  new Response('{"object":"list","data":[{"id":"ti_', {
    headers: {
      'Content-Type': 'application/json; charset=utf-8',
      'Request-Id': 'req_1',
      'Data-As-Of': '2026-01-01T00:00:00.000Z',
    },
  });

test('the client repeats a request whose response ends within its JSON', async () => {
  const { client, requested } = connect({
    baseUrl: api.url,
    fetch: respondFirst([cutResponse, cutResponse]),
  });
  expect((await client.tickets.list()).data).toHaveLength(4);
  expect(requested).toHaveLength(3);
});

test('the client throws a CutResponseError if every response ends within its JSON', async () => {
  const fetch = () => Promise.resolve(cutResponse());
  const { client, requested } = connect({ baseUrl: 'http://localhost', fetch, retries: 2 });
  expect(await rejectionOf(client.tickets.list())).toMatchObject({
    name: 'CutResponseError',
    isRefused: false,
    requestId: 'req_1',
    message:
      'A response of http://localhost broke off (response req_1). Send the request again. If each response breaks off, ' +
      'request less at once, with a lower limit or with conversations.messages.list, and look for a limit on time or ' +
      'size in the proxies before the API. Reason: HTTP 200 ended after 35 characters, within its JSON',
  });
  expect(requested).toHaveLength(3);
});

describe('a connection that breaks within a response', () => {
  /** The number of responses that still break off, each after its headers and a part of its body. */
  let remainingCuts = 0;
  const proxy = createServer((request, response) => {
    forward({ port: api.port, path: request.url, headers: request.headers }, (answer) => {
      if (remainingCuts <= 0) {
        answer.pipe(response.writeHead(answer.statusCode ?? 0, answer.headers));
        return;
      }
      remainingCuts -= 1;
      answer.once('data', (chunk: Buffer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        response.write(chunk.subarray(0, chunk.length / 2), () => response.destroy());
      });
    }).end();
  });
  let baseUrl: string;
  beforeAll(async () => {
    const { port } = await listen(proxy, '127.0.0.1', 0);
    baseUrl = `http://127.0.0.1:${port}`;
  });
  afterAll(() => {
    proxy.closeAllConnections();
    proxy.close();
  });

  test('after a broken connection the client retries the request, and each item comes once', async () => {
    remainingCuts = 3;
    const { client, requested } = connect({ baseUrl });
    const items = await Array.fromAsync(client.tickets.list({ limit: 2, sort: 'createdAt' }));
    expect(items.map(({ id }) => id)).toEqual(['ti_1', 'ti_2', 'ti_3', 'ti_4']);
    expect(requested).toHaveLength(5);
  });

  test('after the last broken connection the client throws a CutResponseError', async () => {
    remainingCuts = Infinity;
    const { client, requested } = connect({ baseUrl, retries: 2 });
    const error = await rejectionOf(client.tickets.list());
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ name: 'CutResponseError', isRefused: false, requestId: matching(/^req_/) });
    expect(requested).toHaveLength(3);
  });
});

describe('a server that accepts a request and never completes its response', () => {
  const paths: (string | undefined)[] = [];
  let server: Server;
  let baseUrl: string;

  beforeAll(async () => {
    server = createServer((request, response) => {
      paths.push(request.url);
      if (request.url === '/v1/channels') response.writeHead(302, { Location: '/elsewhere' }).end();
      // Sends half a response for a list, and nothing for other paths.
      if (request.url === '/v1/tickets') response.write('{"object":"list",');
    });
    const { port } = await listen(server, '127.0.0.1', 0);
    baseUrl = `http://127.0.0.1:${port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  test.each(['list', 'retrieve'] as const)(
    '%s throws a TimeoutError after the last attempt',
    async (method) => {
      const { client, requested } = connect({ baseUrl, timeoutMs: 30, retries: 2 });
      const requests = { list: () => client.tickets.list(), retrieve: () => client.tickets.retrieve('ti_1') };
      expect(await rejectionOf(requests[method]())).toMatchObject({ name: 'TimeoutError', timeoutMs: 30 });
      expect(requested).toHaveLength(3);
    },
  );

  test('the server receives no request at the target of its redirect', async () => {
    const { client, requested } = connect({ baseUrl });
    expect(await rejectionOf(client.channels.list())).toMatchObject({
      name: 'ApiError',
      status: 302,
      code: null,
    });
    expect(requested).toHaveLength(1);
    expect(paths).not.toContain('/elsewhere');
  });

  test('the server receives no further attempt after the signal is aborted', async () => {
    const controller = new AbortController();
    const abortingFetch: typeof fetch = (url, init) => {
      queueMicrotask(() => controller.abort(new Error('enough')));
      return fetch(url, init);
    };
    const { client, requested } = connect({ baseUrl, fetch: abortingFetch });
    const request = client.tickets.retrieve('ti_1', { signal: controller.signal });
    expect(await rejectionOf(request)).toEqual(new Error('enough'));
    expect(requested).toHaveLength(1);
  });

  test('the server receives no further attempt if the signal is aborted during a wait', async () => {
    const controller = new AbortController();
    const onWait = () => controller.abort(new Error('enough'));
    const { client, requested } = connect({ baseUrl, timeoutMs: 30, onWait });
    const request = client.tickets.retrieve('ti_1', { signal: controller.signal });
    expect(await rejectionOf(request)).toEqual(new Error('enough'));
    expect(requested).toHaveLength(1);
  });
});
