import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { interruptResponse } from './interrupt.ts';

/** More than the buffers of both sockets hold. */
const body = Buffer.alloc(64 * 1_024 * 1_024);

test.each(['HTTP/1.0', 'HTTP/1.1'])(
  'an interrupted response whose last bytes still wait for the client ends by a reset: %s',
  async (version) => {
    const server = createServer((_, response) => response.end(body)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const responding = once(server, 'request');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    client.write(`GET / ${version}\r\nHost: a\r\n\r\n`);
    const [, response] = (await responding) as [unknown, ServerResponse];
    // The client has begun to read.
    await once(client, 'readable');
    expect({ isEnded: response.writableEnded, isSent: response.writableFinished }).toEqual({
      isEnded: true,
      isSent: false,
    });
    interruptResponse(response);
    const ending = Promise.race([
      once(client, 'end').then(() => 'an end, as of a whole body'),
      new Promise((resolve) => client.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code))),
    ]);
    client.resume();
    expect(await ending).toBe('ECONNRESET');
    server.close();
  },
);
