import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
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
 * The first client pipelines two requests. The connection of the second client is keep-alive, and its response has
 * begun.
 */
test('a stop waits for the requests in progress, then closes their connections', async () => {
  const responses: ServerResponse[] = [];
  const { open, stop } = await serve((_, response) => responses.push(response));
  /** The response of a request, by its number from 1 on, once the server has received the request. */
  const responseTo = async (number: number): Promise<ServerResponse> => {
    for (;;) {
      const response = responses[number - 1];
      if (response) return response;
      await setImmediate();
    }
  };
  const client = open();
  let received = '';
  client.setEncoding('utf8').on('data', (text: string) => {
    received += text;
  });
  client.write(request() + request());
  // given the second request in progress, which waited for the first
  const first = await responseTo(1);
  first.end('first');
  const second = await responseTo(2);
  const otherClient = open().resume();
  otherClient.write(request());
  const third = await responseTo(3);
  third.write('begun');
  // when the server stops before the second response and the end of the third
  const stopped = stop();
  second.end('second');
  const { socket } = third;
  const thirdClosed = once(third, 'close');
  third.end();
  await thirdClosed;
  expect(socket?.writableEnded).toBe(true);
  await Promise.all([stopped, once(client, 'close')]);
  // then the first client has received both responses
  expect(received).toMatch(/first.*Connection: close.*second$/s);
});

describe('a client that pipelines', () => {
  /** A server that answers each request at once with its path, after `onRequest`. Records the paths in their order. */
  async function serveAndRecord(onRequest: (path: string) => void = () => undefined) {
    const requestedPaths: string[] = [];
    const served = await serve(({ url = '' }, response) => {
      requestedPaths.push(url);
      onRequest(url);
      response.end(url);
    });
    return { ...served, requestedPaths, [Symbol.asyncDispose]: () => served.stop() };
  }

  const paths = Array.from({ length: waitingRequestsMax + 1 }, (_, index) => `/flood/${index}`);

  test('gets the responses in the order of its requests', async () => {
    await using server = await serveAndRecord();
    const client = server.open();
    const last = 'GET /last HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n';
    client.write(paths.slice(1).map(request).join('') + last);
    const received = await textOf(client);
    const bodies = [...received.matchAll(/\r\n\r\n(\/\w+(?:\/\d+)?)/g)].map(([, path]) => path);
    expect(bodies).toEqual([...paths.slice(1), '/last']);
    expect(server.refused.count).toBe(0);
  });

  test('does not delay the request of another client', async () => {
    await using server = await serveAndRecord((path) => {
      // Runs once the flood arrives; the other client is connected by then.
      if (path === paths[0]) otherClient.write(request('/other'));
    });
    const otherClient = server.open().resume();
    await once(otherClient, 'connect');
    const client = server.open().resume();
    client.write(paths.map(request).join(''));
    await once(otherClient, 'data');
    expect(server.requestedPaths.indexOf('/other')).toBeLessThan(10);
    client.destroy();
    otherClient.destroy();
  });

  test('is disconnected and counted if too many requests wait, while other clients are served', async () => {
    await using server = await serveAndRecord();
    const client = server.open().resume();
    const closed = new Promise((resolve) => client.once('close', resolve));
    client.write(request('/flood').repeat(2_500));
    const otherClient = server.open().resume();
    otherClient.write(request('/other'));
    await once(otherClient, 'data');
    await closed;
    const floodServed = server.requestedPaths.filter((path) => path === '/flood');
    expect(floodServed.length).toBeLessThan(10);
    expect(server.refused.count).toBe(1);
    otherClient.destroy();
  });
});
