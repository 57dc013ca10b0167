import {
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';

export type Http2Listener = (request: Http2ServerRequest, response: Http2ServerResponse) => unknown;

export type Http2 = {
  accept: (socket: TLSSocket) => void;
  /** Announces the end to every client (GOAWAY); requests begun are answered. */
  stop: () => void;
};

/** Requests that one connection may have under way; a client that opens more has them refused. */
const concurrentStreamsMax = 100;

/**
 * Speaks HTTP/2 on connections that agreed on it. What is malformed, too long or too much is refused by Node's
 * protocol engine with a reset of the stream or an end of the connection, which is how HTTP/2 says so: among
 * that headers beyond the limit, and streams opened and reset in rapid succession (33 a second after 1,000).
 */
export function createHttp2(
  serve: Http2Listener,
  { headersLengthMax, silenceTimeoutMs }: { headersLengthMax: number; silenceTimeoutMs: number },
): Http2 {
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer({
    settings: { maxConcurrentStreams: concurrentStreamsMax, maxHeaderListSize: headersLengthMax },
    maxSendHeaderBlockLength: headersLengthMax,
  });
  server.on('request', serve);
  server.on('connect', serve);
  server.on('checkExpectation', serve);
  // A broken connection or a client that violates the protocol has nobody to answer to.
  server.on('sessionError', () => undefined);
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
    session.setTimeout(silenceTimeoutMs, () => session.destroy());
  });
  return {
    accept: (socket) => void server.emit('connection', socket),
    stop: () => {
      for (const session of sessions) session.close();
    },
  };
}
