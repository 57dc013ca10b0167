import { PassThrough } from 'node:stream';
import { pino } from 'pino';
import { answerUnparsed } from './parser-errors.ts';

it.each([
  ['with headers that are too large', 'HPE_HEADER_OVERFLOW', 431, 'headers_too_large'],
  ['that does not arrive in time', 'ERR_HTTP_REQUEST_TIMEOUT', 408, 'request_timeout'],
  ['that is no HTTP', 'HPE_INVALID_METHOD', 400, 'malformed_request'],
])('a request %s gets its own error', (_, code, status, error) => {
  const socket = new PassThrough();
  const deps = {
    logger: pino({ level: 'silent' }),
    docs: { docsUrl: undefined, baseUrl: undefined },
    trace: null,
  };
  answerUnparsed(deps, Object.assign(new Error(code), { code }), socket);
  const response = String(socket.read());
  expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(response).toContain(`"code":"${error}"`);
});
