import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { pino } from 'pino';
import { answerUnparsed } from './parser-errors.ts';

const deps = {
  logger: pino({ level: 'silent' }),
  docs: { docsUrl: undefined, baseUrl: undefined },
  trace: null,
};

/** The application counts a request that is in progress until its response closes, unless it has closed. */
test('the response of a request whose body turns out to be invalid is closed', async () => {
  const server = createServer();
  server.on('clientError', (error, socket) => answerUnparsed(deps, error, socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').resume();
  client.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n');
  const [request, response] = (await once(server, 'request')) as [ServerResponse['req'], ServerResponse];
  request.resume();
  client.write('zz\r\n');
  await once(response, 'close');
  expect(response.closed).toBe(true);
  await once(client, 'close');
  server.close();
});
