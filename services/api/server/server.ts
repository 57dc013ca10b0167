import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Counter } from 'prom-client';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { createAddressLimit, type AddressLimit } from './address-limit.ts';
import type { DocsLocation } from '../http/error-envelope.ts';
import { createHttp2 } from './http2.ts';
import { noPipelining } from './no-pipelining.ts';
import type { AddressRange } from '../http/proxy.ts';
import { originForm } from './request-target.ts';
import { answerUnparsed, codeOfParserError } from './parser-errors.ts';
import { acceptTls, type Credentials } from './tls.ts';
import type { Trace } from '../traces/tracer.ts';

export type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

export type WebServer = {
  /** Of the socket; `port` is the one that was given by the system where 0 was asked for. */
  address: { host: string; port: number };
  /** Takes no further requests, and resolves when those begun are answered. */
  stop: () => Promise<void>;
  /** Another certificate for the connections from now on. */
  useCertificate: (pair: Credentials) => void;
};

/** How long a client may take for what, in milliseconds; then the connection is closed, with 408 if it can be. */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;
/** Longer than the idle time of common load balancers (60 s), so that it is they who close connections. */
const keepAliveTimeoutMs = 65_000;
/** No byte in either direction, as of a client that stops reading a long conversation. */
const silenceTimeoutMs = 120_000;
/** Beyond it 431. Twice the longest target (414), so that each gets its own answer. */
const headersLengthMax = 32_768;

const http1Options = {
  headersTimeout: headersTimeoutMs,
  requestTimeout: requestTimeoutMs,
  keepAliveTimeout: keepAliveTimeoutMs,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: headersLengthMax,
  // Node would answer by itself, without the envelope; the application does so instead.
  requireHostHeader: false,
};

type Deps = {
  listener: Listener;
  connectionsRefused: Counter;
  logger: Logger;
  docs: DocsLocation;
  trace: Trace | null;
};

type Options = {
  host: string;
  port: number;
  credentials: Credentials | null;
  /** Further connections are closed as they come. */
  connectionsMax: number;
  /** The same for each client address, and for its HTTP/2 streams. */
  addressConnectionsMax: number;
  trustedProxies: AddressRange[];
};

/** Serves `listener` over plain HTTP, or with credentials over TLS and plain HTTP on one port. */
export async function startServer(
  { listener, connectionsRefused, ...unparsed }: Deps,
  { host, port, credentials, connectionsMax, addressConnectionsMax: max, trustedProxies }: Options,
): Promise<WebServer> {
  let isStopping = false;
  const serve = noPipelining((request, response) => {
    unused.use(request.socket);
    request.url = originForm(request.url ?? '/');
    if (isStopping || hasBody(request)) response.shouldKeepAlive = false;
    return listener(request, response);
  });
  const server = createServer(http1Options, serve);
  server.setTimeout(silenceTimeoutMs);
  server.maxConnections = connectionsMax;
  server.on('drop', () => connectionsRefused.inc());
  server.on('checkExpectation', serve);
  server.on('clientError', (error, socket) => answerUnparsed(unparsed, codeOfParserError(error), socket));
  server.on('connect', (_, socket) => answerUnparsed(unparsed, 'method_not_allowed', socket));
  const http2 = createHttp2(
    (request, response) => {
      request.url = originForm(request.url ?? '/');
      // Koa takes either kind; its types know the older one only.
      return listener(request as unknown as IncomingMessage, response as unknown as ServerResponse);
    },
    {
      ...{ headersLengthMax, headersTimeoutMs, silenceTimeoutMs, connectionsRefused },
      streamsMax: connectionsMax,
      addressLimit: createAddressLimit({ trustedProxies, max }),
    },
  );
  const tls =
    credentials &&
    acceptTls(server, credentials, (socket) => {
      unused.use(socket);
      http2.accept(socket);
    });
  // Behind the listener that looks for TLS, so that it is given the connections themselves.
  const unused = trackUnused(server);
  limitConnections(server, createAddressLimit({ trustedProxies, max }), connectionsRefused);
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  return {
    address: { host: address.address, port: address.port },
    stop: async () => {
      isStopping = true;
      http2.stop();
      const closed = once(server, 'close');
      server.close();
      server.closeIdleConnections();
      unused.close();
      await closed;
    },
    useCertificate: (pair) => tls?.setSecureContext(pair),
  };
}

/** Closes the connections of an address that has its share, before anything is read from them. */
function limitConnections(server: Server, limit: AddressLimit, connectionsRefused: Counter): void {
  const accept = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    const held = limit(socket);
    if (held) {
      socket.once('close', held.release);
      for (const listener of accept) listener.call(server, socket);
    } else {
      connectionsRefused.inc();
      socket.destroy();
    }
  });
}

type Endpoint = Pick<Socket, 'remoteAddress' | 'remotePort'>;

/**
 * The connections that no request has come on. To Node they are not idle: one that a client opened in advance would
 * hold up the stop.
 */
function trackUnused(server: Server) {
  const unused = new Map<string, Socket>();
  // The socket of a request is another object than that of its connection where TLS is between them.
  const keyOf = ({ remoteAddress, remotePort }: Endpoint) => `${remoteAddress} ${remotePort}`;
  const use = (socket: Endpoint) => void unused.delete(keyOf(socket));
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    unused.set(key, socket);
    socket.once('close', () => unused.delete(key));
  });
  return {
    use,
    close: () => {
      for (const socket of unused.values()) socket.destroy();
    },
  };
}

/** Nothing here takes a body. One that is sent is not read: the connection ends with the response instead. */
const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
