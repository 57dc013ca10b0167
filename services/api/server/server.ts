import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Counter } from 'prom-client';
import type { AddressRange } from '../../../shared/runtime/addresses.ts';
import { listen } from '../../../shared/runtime/listen.ts';
import { createCounts } from '../counts.ts';
import { isTrustedPeer, networkOf } from '../http/proxy.ts';
import { type Listener, serveConnections } from './connections.ts';
import { answerSocket, answerUnparsed, type UnparsedDeps } from './parser-errors.ts';
import { originForm } from './request-target.ts';
import { acceptTls, type Credentials } from './tls.ts';

/** A connection is closed after this time without a byte in either direction, as when a client stops reading. */
const silenceTimeoutMs = 120_000;

const httpOptions = {
  // After one of these times Node closes the connection of an incomplete request, with 408 if possible.
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 1_000,
  // Longer headers get 431. The limit is four times the longest target, so a target that is too long gets its 414.
  maxHeaderSize: 32_768,
  // The application checks the header instead: Node's own answer would lack the error envelope.
  requireHostHeader: false,
};

type ServerDeps = UnparsedDeps & {
  /** Answers a request. */
  listener: Listener;
  /** Counts the connections that are closed because of a limit. */
  connectionsRefused: Counter;
  /** A monotonic clock, in milliseconds. */
  nowMs: () => number;
};

export type ServerOptions = {
  /** The address to listen on. */
  host: string;
  /** 0 for one that the system chooses. */
  port: number;
  /** Null for plain HTTP. */
  credentials: Credentials | null;
  /** The server closes connections beyond this number immediately. */
  connectionsMax: number;
  /** The same limit for each client address. */
  addressConnectionsMax: number;
  /** The limit for each client address does not apply to these proxies. */
  trustedProxies: AddressRange[];
  /** How long an idle connection stays open, in milliseconds. */
  keepAliveMs: number;
};

export type RunningServer = {
  /** If the caller requested port 0, `port` is the port that the system chose. */
  address: { host: string; port: number };
  /** Every response from now on has `Connection: close`. */
  drain: () => void;
  /** Accepts no more connections, and resolves when all are closed. */
  stop: () => Promise<void>;
  /** Uses another certificate for new connections. */
  useCertificate: (pair: Credentials) => void;
};

/** Serves `listener` over plain HTTP; with credentials, only over TLS. */
export async function startServer(
  { listener, connectionsRefused, nowMs, ...unparsed }: ServerDeps,
  {
    host,
    port,
    credentials,
    connectionsMax,
    addressConnectionsMax: max,
    trustedProxies,
    keepAliveMs,
  }: ServerOptions,
): Promise<RunningServer> {
  const serve: Listener = (request, response) => {
    request.url = originForm(request.url ?? '/');
    if (!hasBody(request)) return listener(request, response);
    response.shouldKeepAlive = false;
    // The application refuses a body in another coding before it is read, because its length is unknown.
    if (!/^(chunked)?$/i.test(request.headers['transfer-encoding'] ?? '')) return listener(request, response);
    return discardBody(request, response).then((isOpen) => isOpen && listener(request, response));
  };
  const server = createServer({ ...httpOptions, keepAliveTimeout: keepAliveMs });
  server.setTimeout(silenceTimeoutMs);
  server.maxConnections = connectionsMax;
  server.on('drop', () => connectionsRefused.inc());
  server.on('clientError', (error, socket) => answerUnparsed(unparsed, error, socket));
  server.on('connect', (_, socket) => answerSocket(unparsed, 'method_not_allowed', socket));
  const refusePlain = (socket: Socket) => answerSocket(unparsed, 'https_required', socket);
  const tls = credentials && acceptTls(server, credentials, refusePlain);
  // Must come after `acceptTls`, because it listens for the TCP connections themselves.
  const connectionDeps = { logger: unparsed.logger, connectionsRefused, nowMs };
  const { drain, stop } = serveConnections(server, connectionDeps, serve);
  limitConnections(server, { trustedProxies, max, connectionsRefused });
  const address = await listen(server, host, port);
  return {
    address: { host: address.address, port: address.port },
    drain,
    stop,
    useCertificate: (pair) => tls?.setSecureContext(pair),
  };
}

type AddressLimit = { trustedProxies: AddressRange[]; max: number; connectionsRefused: Counter };

/**
 * Closes further connections of a client address that has `max`, before anything is read from them. Otherwise one
 * address could take all connections. Trusted proxies are exempt.
 */
function limitConnections(server: Server, { trustedProxies, max, connectionsRefused }: AddressLimit): void {
  const open = createCounts<string>();
  server.prependListener('connection', (socket) => {
    if (isTrustedPeer(trustedProxies, socket)) return;
    const address = networkOf(socket.remoteAddress);
    if (open.count(address) < max) {
      socket.once('close', open.begin(address));
    } else {
      connectionsRefused.inc();
      socket.destroy();
    }
  });
}

/** The server does not read a longer or slower body to its end, but answers and closes the connection. */
const discardedBytesMax = 16 * 1_024 * 1_024;
const discardMsMax = 5_000;

/**
 * Reads a body and drops it, because no endpoint takes a body. The answer comes after the body, because a client that
 * is still sending when the connection closes would lose the answer. Resolves with false if the client has left, or if
 * its request turns out to be invalid.
 */
function discardBody(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  let bytes = 0;
  const timer = setTimeout(resolve, discardMsMax, true);
  response.once('close', () => resolve(false));
  request.once('end', () => resolve(true));
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > discardedBytesMax) resolve(true);
  });
  return promise.finally(() => clearTimeout(timer));
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
