import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as TcpServer, type Socket } from 'node:net';
import type { Counter } from 'prom-client';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { interruptResponse, rememberConnection } from '../http/interrupt.ts';

type Endpoint = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress'>;

/** How long a stop waits for clients to take the responses in progress. */
const stopTimeoutMs = 15_000;

/** Identifies a connection. Over TLS, the socket of its requests is another object, but has the same addresses. */
const connectionKeyOf = ({ remoteAddress, remotePort, localAddress }: Endpoint) =>
  `${remoteAddress} ${remotePort} ${localAddress}`;

/**
 * An older connection is closed with its next response. Otherwise a load balancer of connections would send the
 * requests of long-lived clients only to replicas that were there at their start.
 */
const ageMaxMs = 15 * 60_000;
/** A random age spreads the reconnections of clients that arrived together. */
const randomAgeMs = () => ageMaxMs * (0.9 + Math.random() / 5);

/**
 * The maximum of requests that wait on one connection; a connection with more is closed. Clients that pipeline send up
 * to 16 requests together. Node parses 64 KB at a time, which is up to 2,600 requests of 1.5 KB of memory each.
 */
export const waitingRequestsMax = 32;

type Connection = {
  socket: Socket;
  /** After this time, the connection is closed with its next response. */
  untilMs: number;
  /** The response in progress. */
  response: ServerResponse | null;
  /** Begin the requests that wait for the end of the response, oldest first. */
  waiting: (() => void)[];
};

export type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

type ConnectionsDeps = { logger: Logger; connectionsRefused: Pick<Counter, 'inc'>; nowMs: () => number };

/**
 * Hands the requests of each connection to `listener` one after another, and stops the server in order.
 *
 * By default Node starts every pipelined request immediately. A client that never reads could fill the memory with
 * thousands of full pages. Here, while a request waits, the server reads nothing more from its connection. Waiting
 * requests of other connections begin first.
 */
export function serveConnections(server: Server, deps: ConnectionsDeps, listener: Listener) {
  const { logger, connectionsRefused, nowMs } = deps;
  const connections = new Map<string, Connection>();
  let isDraining = false;
  let isStopping = false;
  const connectionOf = (socket: Socket): Connection => {
    const key = connectionKeyOf(socket);
    const openConnection = connections.get(key);
    if (openConnection) return openConnection;
    const connection: Connection = { socket, untilMs: nowMs() + randomAgeMs(), response: null, waiting: [] };
    connections.set(key, connection);
    socket.once('close', () => connections.delete(key));
    return connection;
  };
  const begin = (connection: Connection, request: IncomingMessage, response: ServerResponse) => {
    setResponse(connection, request, response);
    if (isDraining || nowMs() > connection.untilMs) response.shouldKeepAlive = false;
    response.once('close', () => {
      connection.response = null;
      if (connection.waiting.length > 0) setImmediate(beginNext, connection, request.socket);
      // A response that began before the stop has `keep-alive`, so Node would leave its connection open.
      else if (isStopping) request.socket.destroySoon();
    });
    return listener(request, response);
  };
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    // A destroyed socket has no address, by which its connection could be found.
    if (socket.destroyed) return;
    const connection = connectionOf(socket);
    if (!isBusy(connection)) {
      begin(connection, request, response);
    } else if (connection.waiting.length < waitingRequestsMax) {
      queueRequest(connection, socket, () => begin(connection, request, response));
    } else {
      connectionsRefused.inc();
      cutOff(connection);
    }
  };
  server.on('connection', connectionOf).on('request', serve).on('checkExpectation', serve);
  const drain = () => {
    isDraining = true;
    for (const { response } of connections.values()) {
      if (response) response.shouldKeepAlive = false;
    }
  };
  return {
    /** Every response from now on has `Connection: close`. */
    drain,
    /**
     * Accepts no more connections, and resolves when all are closed. A slow client's connection is closed after 15
     * seconds.
     */
    stop: async () => {
      drain();
      isStopping = true;
      await closeServer(server, connections, logger);
    },
  };
}

/** Closes idle connections immediately, and each other one when its client has read its response or the time is up. */
async function closeServer(server: Server, connections: Map<string, Connection>, logger: Logger) {
  const closed = once(server, 'close');
  // The HTTP server's own method also cuts off responses that wait in memory for a slow client.
  TcpServer.prototype.close.call(server);
  for (const connection of connections.values()) {
    if (!isBusy(connection)) connection.socket.destroy();
  }
  const timer = setTimeout(() => {
    logger.warn({ connections: connections.size }, 'closed connections with unread responses');
    for (const connection of connections.values()) cutOff(connection);
  }, stopTimeoutMs);
  await closed;
  clearTimeout(timer);
}

/**
 * Makes `response` the connection's response in progress. If a time-out or the end of the client's stream interrupts
 * the response, the server resets the connection. Node would close it, which looks like the end of the body. A client
 * that ends its stream still gets a response that is already written.
 */
function setResponse(connection: Connection, { socket }: IncomingMessage, response: ServerResponse): void {
  connection.response = response;
  rememberConnection(response, connection.socket);
  const onEnd = () => {
    if (!response.writableEnded) interruptResponse(response);
  };
  socket.prependListener('end', onEnd);
  response.once('timeout', () => interruptResponse(response));
  response.once('close', () => socket.off('end', onEnd));
}

function cutOff({ socket, response }: Connection): void {
  if (response) interruptResponse(response);
  else socket.destroy();
}

const isBusy = ({ response, waiting }: Connection): boolean => response !== null || waiting.length > 0;

/** Lets a request wait, and reads nothing more from its connection. */
function queueRequest({ waiting }: Connection, socket: Socket, begin: () => void): void {
  // Node resumes the socket after each request that it has read completely.
  if (waiting.length === 0) socket.on('resume', pause);
  waiting.push(begin);
  socket.pause();
}

/** Begins the request that has waited longest. */
function beginNext({ waiting }: Connection, socket: Socket): void {
  const beginRequest = waiting.shift();
  // The client may have left, or the last response may have had `Connection: close`.
  if (!beginRequest || !socket.writable) {
    socket.destroySoon();
    return;
  }
  if (waiting.length === 0) socket.off('resume', pause).resume();
  beginRequest();
}

function pause(this: Socket): void {
  this.pause();
}
