import { type ServerResponse, STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { ApiError } from '../http/api-error.ts';
import type { ErrorCode } from '../http/error-catalogue.ts';
import { type BaseUrl, errorEnvelope } from '../http/error-envelope.ts';
import { commonHeaders, strictTransportSecurity } from '../http/headers.ts';
import { interruptResponse } from '../http/interrupt.ts';
import { allowedMethods } from '../http/methods.ts';
import { isEncrypted } from '../http/proxy.ts';
import { newRequestId } from '../http/request-id.ts';
import type { Trace } from '../traces/tracer.ts';

/** The error code that the client receives for an error of Node's HTTP parser. */
function codeOfParserError(error: NodeJS.ErrnoException): ErrorCode {
  const { code } = error;
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large';
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'request_timeout' : 'malformed_request';
}

/** The trace fields of a request that could not be parsed. */
const unparsed = { method: null, route: null, search: '', durationMs: 0, aborted: false };

/** Node keeps the response in progress of a connection in `_httpMessage` of its socket. */
type RequestSocket = Duplex & { _httpMessage?: ServerResponse | null };
export type UnparsedDeps = {
  logger: Logger;
  baseUrl: BaseUrl;
  trace: Trace | null;
  /** Whether a request without a valid key may have a log line and a trace. */
  admitUnauthenticated: () => boolean;
};

/** Answers a request that Node's parser refused. */
export function answerUnparsed(
  deps: UnparsedDeps,
  error: NodeJS.ErrnoException,
  socket: RequestSocket,
): void {
  const response = socket._httpMessage;
  // The parser reports an unknown Transfer-Encoding after it has passed on the request, whose response is the error.
  if (response && error.code === 'HPE_INVALID_TRANSFER_ENCODING') return;
  // The body of the request is still being discarded, so the application has not begun with it.
  if (response && !response.hasHeader('Request-Id') && !response.req.complete) {
    response.detachSocket(socket as Socket);
    response.emit('close');
  }
  answerSocket(deps, codeOfParserError(error), socket);
}

/** Answers with an error on the raw socket, and closes it. */
export function answerSocket(
  { logger, baseUrl, trace, admitUnauthenticated }: UnparsedDeps,
  code: ErrorCode,
  socket: RequestSocket,
): void {
  // An error within a response in progress would corrupt it.
  const { _httpMessage: inProgress } = socket;
  if (inProgress) {
    interruptResponse(inProgress);
    return;
  }
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const requestId = newRequestId();
  const error = new ApiError(code);
  const port = socket instanceof Socket ? socket.localPort : undefined;
  const body = JSON.stringify(errorEnvelope(baseUrl, error, { requestId, port }));
  const headers: Record<string, string | number> = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'Request-Id': requestId,
    Date: new Date().toUTCString(),
    ...commonHeaders,
  };
  if (isEncrypted(socket)) headers['Strict-Transport-Security'] = strictTransportSecurity;
  if (code === 'method_not_allowed') headers.Allow = allowedMethods;
  headers.Connection = 'close';
  const lines = [`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
  if (!admitUnauthenticated()) return;
  logger.info({ requestId, status: error.status, code }, 'request that could not be parsed');
  trace?.({ ...unparsed, requestId, at: new Date(), status: error.status, code });
}
