import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { createLogger } from '../../../shared/runtime/logger.ts';
import { serveConnections } from './connections.ts';

/**
 * A client that pipelines, or a keep-alive client whose next request comes before the last response has closed; and one
 * whose response has begun as keep-alive.
 */
test('a stop lets requests end, and closes their connections', async () => {
  const server = createServer();
  const responses: ServerResponse[] = [];
  const begun = (count: number) =>
    new Promise<void>((resolve) => {
      const look = () => (responses.length >= count ? resolve() : setImmediate(look));
      look();
    });
  const deps = { logger: createLogger('test', 'silent'), nowMs: () => performance.now() };
  const { stop } = serveConnections(server, deps, (_, response) => responses.push(response));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let received = '';
  client.setEncoding('utf8').on('data', (text: string) => (received += text));
  const request = 'GET / HTTP/1.1\r\nHost: test\r\n\r\n';
  client.write(request + request);
  // given the second request in progress, which waited for the first
  await begun(1);
  responses[0]?.end('first');
  await begun(2);
  const kept = connect((server.address() as AddressInfo).port, '127.0.0.1').resume();
  kept.write(request);
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
