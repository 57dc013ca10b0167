import {
  constants,
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Counter } from 'prom-client';
import type { AddressLimit } from './address-limit.ts';

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
  {
    headersLengthMax,
    headersTimeoutMs,
    silenceTimeoutMs,
    streamsMax,
    addressLimit,
    connectionsRefused,
  }: {
    headersLengthMax: number;
    headersTimeoutMs: number;
    silenceTimeoutMs: number;
    /** Of all connections together; beyond it a stream is refused, which tells clients to try it again. */
    streamsMax: number;
    /** Of the streams of one client address. */
    addressLimit: AddressLimit;
    connectionsRefused: Counter;
  },
): Http2 {
  const sessions = new Set<ServerHttp2Session>();
  const server = createServer({
    settings: { maxConcurrentStreams: concurrentStreamsMax, maxHeaderListSize: headersLengthMax },
    maxSendHeaderBlockLength: headersLengthMax,
  });
  let streams = 0;
  const admit: Http2Listener = (request, response) => {
    const { stream } = request;
    const held = streams < streamsMax ? addressLimit(request.socket) : null;
    if (!held) {
      connectionsRefused.inc();
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
      return undefined;
    }
    streams += 1;
    stream.once('close', () => {
      streams -= 1;
      held.release();
    });
    // Other frames keep a connection alive, so a stream that is not read has a time of its own.
    stream.setTimeout(silenceTimeoutMs, () => stream.close(constants.NGHTTP2_CANCEL));
    return serve(request, response);
  };
  for (const event of ['request', 'connect', 'checkExpectation'] as const) server.on(event, admit);
  // A broken connection or a client that violates the protocol has nobody to answer to.
  server.on('sessionError', () => undefined);
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
    session.setTimeout(silenceTimeoutMs, () => session.destroy());
    const late = setTimeout(() => session.destroy(), headersTimeoutMs);
    session.once('remoteSettings', () => clearTimeout(late));
    session.once('close', () => clearTimeout(late));
  });
  return {
    accept: (socket) => {
      // Sockets of an HTTP/1.1 server stay half open, and a session that is not read would outlive its client.
      socket.allowHalfOpen = false;
      server.emit('connection', socket);
    },
    stop: () => {
      for (const session of sessions) session.close();
    },
  };
}
