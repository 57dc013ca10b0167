import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { pino } from 'pino';
import { answerUnparsed } from './parser-errors.ts';

const deps = {
  logger: pino({ level: 'silent' }),
  docs: { docsUrl: undefined, baseUrl: undefined },
  trace: null,
};

it.each([
  ['with headers that are too large', 'HPE_HEADER_OVERFLOW', 431, 'headers_too_large'],
  ['that does not arrive in time', 'ERR_HTTP_REQUEST_TIMEOUT', 408, 'request_timeout'],
  ['that is no HTTP', 'HPE_INVALID_METHOD', 400, 'malformed_request'],
])('a request %s gets its own error', (_, code, status, error) => {
  const socket = new PassThrough();
  answerUnparsed(deps, Object.assign(new Error(code), { code }), socket);
  const response = String(socket.read());
  expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(response).toContain(`"code":"${error}"`);
});

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
