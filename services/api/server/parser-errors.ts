import { STATUS_CODES } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { ApiError } from '../http/api-error.ts';
import { errorEnvelope, type DocsLocation } from '../http/error-envelope.ts';
import type { ErrorCode } from '../http/error-catalogue.ts';
import { allowedMethods } from '../http/methods.ts';
import { strictTransportSecurity } from '../middleware/https-only.ts';
import { isEncrypted } from '../http/proxy.ts';
import type { Trace } from '../traces/tracer.ts';
import { newRequestId } from '../middleware/request-id.ts';

/** What a parser's complaint is to the client. */
export function codeOfParserError(error: NodeJS.ErrnoException): ErrorCode {
  const { code } = error;
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large';
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 'request_timeout' : 'malformed_request';
}

/** What a trace can say of a request that could not be read. */
const unknown = {
  method: null,
  route: null,
  pathId: undefined,
  search: '',
  durationMs: 0,
  aborted: false,
  caller: null,
};

/** Answers, on the bare socket, what Node's parser would not hand to the application; then closes it. */
export function answerUnparsed(
  { logger, docs, trace }: { logger: Logger; docs: DocsLocation; trace: Trace | null },
  code: ErrorCode,
  socket: Duplex & { _httpMessage?: unknown },
): void {
  // A response under way must not have another one written into it.
  if (!socket.writable || socket._httpMessage) {
    socket.destroy();
    return;
  }
  const requestId = newRequestId();
  const error = new ApiError(code);
  const port = socket instanceof Socket ? socket.localPort : undefined;
  const body = JSON.stringify(errorEnvelope(docs, error, { requestId, port }));
  const lines = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `Request-Id: ${requestId}`,
    `Date: ${new Date().toUTCString()}`,
    'Cache-Control: private, no-cache',
    'X-Content-Type-Options: nosniff',
    ...(isEncrypted(socket) ? [`Strict-Transport-Security: ${strictTransportSecurity}`] : []),
    ...(code === 'method_not_allowed' ? [`Allow: ${allowedMethods}`] : []),
    'Connection: close',
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
  logger.info({ requestId, status: error.status, code }, 'request that could not be parsed');
  trace?.({ ...unknown, requestId, at: new Date(), status: error.status, code });
}
