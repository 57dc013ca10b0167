import {
  constants,
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type Http2Session,
  type ServerHttp2Session,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Counter } from 'prom-client';
import type { AddressLimit } from './address-limit.ts';
import { createAgeLimit } from './connections.ts';

type Http2Listener = (request: Http2ServerRequest, response: Http2ServerResponse) => unknown;

type Http2 = {
  accept: (socket: TLSSocket) => void;
  /** Sends GOAWAY with each further answer. Streams that cross it are refused unprocessed: clients may retry them. */
  drain: () => void;
  /** Sends GOAWAY to every client; requests in progress are still answered. */
  stop: () => void;
};

/** Requests in progress on one connection; further ones are refused. */
const concurrentStreamsMax = 100;

type Options = {
  headersLengthMax: number;
  headersTimeoutMs: number;
  silenceTimeoutMs: number;
  /** Streams on all connections together. Further streams are refused, which tells clients to retry. */
  streamsMax: number;
  /** Limits the streams of one client address. */
  addressLimit: AddressLimit;
  connectionsRefused: Counter;
  nowMs: () => number;
};

/**
 * Serves connections that negotiated HTTP/2. Node's protocol engine refuses malformed or oversized input by resetting
 * the stream or closing the connection. That includes headers above the limit, and streams opened and reset in rapid
 * succession (33 a second after 1,000).
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
    nowMs,
  }: Options,
): Http2 {
  /** The sessions, and whether each has become too old. */
  const sessions = new Map<Http2Session, () => boolean>();
  const server = createServer({
    settings: { maxConcurrentStreams: concurrentStreamsMax, maxHeaderListSize: headersLengthMax },
    maxSendHeaderBlockLength: headersLengthMax,
  });
  let streams = 0;
  let isDraining = false;
  const serveStream: Http2Listener = (request, response) => {
    const { stream } = request;
    const counted = streams < streamsMax ? addressLimit(request.socket) : null;
    if (!counted) {
      connectionsRefused.inc();
      stream.close(constants.NGHTTP2_REFUSED_STREAM);
      return undefined;
    }
    streams += 1;
    stream.once('close', () => {
      streams -= 1;
      counted.release();
    });
    // Other frames keep the connection alive, so a stream that the client does not read needs its own timeout.
    stream.setTimeout(silenceTimeoutMs, () => stream.close(constants.NGHTTP2_CANCEL));
    const { session } = stream;
    if (session && (isDraining || sessions.get(session)?.())) session.close();
    return serve(request, response);
  };
  for (const event of ['request', 'connect', 'checkExpectation'] as const) server.on(event, serveStream);
  // After a broken connection or a protocol violation there is no client to answer.
  server.on('sessionError', () => undefined);
  server.on('session', (session) => {
    sessions.set(session, createAgeLimit(nowMs));
    session.once('close', () => sessions.delete(session));
    session.setTimeout(silenceTimeoutMs, () => session.destroy());
    requireSettings(session, headersTimeoutMs);
  });
  return {
    accept: (socket) => {
      // Sockets of an HTTP/1.1 server stay half open, so a session that is not read would outlive its client.
      socket.allowHalfOpen = false;
      server.emit('connection', socket);
    },
    drain: () => void (isDraining = true),
    stop: () => sessions.forEach((_, session) => session.close()),
  };
}

/** Closes the connection of a client that does not begin to speak HTTP/2. */
function requireSettings(session: ServerHttp2Session, timeoutMs: number): void {
  const timeout = setTimeout(() => session.destroy(), timeoutMs);
  session.once('remoteSettings', () => clearTimeout(timeout));
  session.once('close', () => clearTimeout(timeout));
}
