import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { createLogger } from '../../../shared/runtime/logger.ts';
import { type Listener, serveConnections, waitingRequestsMax } from './connections.ts';

const request = (path = '/') => `GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`;

/** A server on a free port, its connections, and the number of connections that it has refused. */
async function serve(listener: Listener) {
  const server = createServer();
  const refused = { count: 0 };
  const deps = {
    logger: createLogger('test', 'silent'),
    connectionsRefused: {
      inc: () => {
        refused.count += 1;
      },
    },
    nowMs: () => performance.now(),
  };
  const { stop } = serveConnections(server, deps, listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const open = (): Socket => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    // A connection that is refused may be reset.
    return socket.on('error', () => undefined);
  };
  return { server, open, stop, refused };
}

/**
 * The first client pipelines, or keeps its connection alive and sends a request before the last response has closed.
 * The response of the second client has begun as keep-alive.
 */
test('a stop waits for the requests in progress, then closes their connections', async () => {
  const responses: ServerResponse[] = [];
  const begun = (count: number) =>
    new Promise<void>((resolve) => {
      const look = () => (responses.length >= count ? resolve() : setImmediate(look));
      look();
    });
  const { server, open, stop } = await serve((_, response) => responses.push(response));
  const client = open();
  let received = '';
  client.setEncoding('utf8').on('data', (text: string) => {
    received += text;
  });
  client.write(request() + request());
  // given the second request in progress, which waited for the first
  await begun(1);
  responses[0]?.end('first');
  await begun(2);
  const kept = open().resume();
  kept.write(request());
  await begun(3);
  responses[2]?.write('begun');
  // when the server stops before the second response and the end of the third
  const stopped = stop();
  responses[1]?.end('second');
  const socket = responses[2]?.socket;
  const ended = once(responses[2] ?? server, 'close');
  responses[2]?.end();
  await ended;
  expect(socket?.writableEnded).toBe(true);
  await Promise.all([stopped, once(client, 'close')]);
  // then the client has it
  expect(received).toMatch(/first.*Connection: close.*second$/s);
});

describe('a client that pipelines', () => {
  /** The paths of the requests that have begun, in their order; each is answered at once. */
  const begun: string[] = [];
  let onBegin = (_path: string): unknown => undefined;
  let opened: Awaited<ReturnType<typeof serve>>;
  beforeEach(async () => {
    begun.length = 0;
    onBegin = () => undefined;
    opened = await serve(({ url = '' }, response) => {
      begun.push(url);
      onBegin(url);
      response.end(url);
    });
  });
  afterEach(() => opened.stop());

  const paths = Array.from({ length: waitingRequestsMax + 1 }, (_, index) => `/flood/${index}`);

  test('gets the responses in the order of its requests', async () => {
    const client = opened.open();
    const last = 'GET /last HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n';
    client.write(paths.slice(1).map(request).join('') + last);
    const text = await textOf(client);
    const bodies = text.matchAll(/\r\n\r\n(\/\w+(?:\/\d+)?)/g);
    const answered = Array.from(bodies, ([, path]) => path);
    expect(answered).toEqual([...paths.slice(1), '/last']);
    expect(opened.refused.count).toBe(0);
  });

  test('does not delay the request of another client', async () => {
    const otherClient = opened.open().resume();
    await once(otherClient, 'connect');
    const client = opened.open().resume();
    onBegin = (path) => {
      if (path === paths[0]) otherClient.write(request('/other'));
    };
    client.write(paths.map(request).join(''));
    await once(otherClient, 'data');
    expect(begun.indexOf('/other')).toBeLessThan(10);
    client.destroy();
    otherClient.destroy();
  });

  test('is disconnected and counted if too many requests wait, while other clients are served', async () => {
    const client = opened.open().resume();
    const closed = new Promise((resolve) => client.once('close', resolve));
    client.write(request('/flood').repeat(2_500));
    const otherClient = opened.open().resume();
    otherClient.write(request('/other'));
    await once(otherClient, 'data');
    await closed;
    expect(begun.filter((path) => path === '/flood').length).toBeLessThan(10);
    expect(opened.refused.count).toBe(1);
    otherClient.destroy();
  });
});
