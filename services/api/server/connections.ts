import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as TcpServer, type Socket } from 'node:net';
import type { Logger } from '../../../shared/runtime/logger.ts';

type Endpoint = Pick<Socket, 'remoteAddress' | 'remotePort'>;

/** How long a stop waits for clients to take the responses in progress. */
const stopTimeoutMs = 15_000;

// Over TLS, a request's socket and its connection's socket are different objects.
const keyOf = ({ remoteAddress, remotePort }: Endpoint) => `${remoteAddress} ${remotePort}`;

/**
 * A connection that is older is closed with its next response. Otherwise a balancer of connections would give a replica
 * that was added later no load from long-lived clients.
 */
const ageMaxMs = 15 * 60_000;

/** Returns a function that says whether a connection that begins now has become too old. */
function createAgeLimit(nowMs: () => number): () => boolean {
  // A random age spreads the reconnections of clients that arrived together.
  const untilMs = nowMs() + ageMaxMs * (0.9 + Math.random() / 5);
  return () => nowMs() > untilMs;
}

type Accept = (socket: Socket) => void;

/** Hands each new connection to `handle`. Returns the function that passes one on to the server's own listeners. */
export function interceptConnections(server: Server, handle: Accept): Accept {
  const listeners = server.listeners('connection') as Accept[];
  server.removeAllListeners('connection');
  server.on('connection', handle);
  return (socket) => {
    for (const listener of listeners) listener.call(server, socket);
  };
}

/** Tracks the connections of a server and the responses in progress on them, so that it stops in order. */
export function trackConnections(server: Server, logger: Logger, nowMs: () => number) {
  const connections = new Map<string, { socket: Socket; isOld: () => boolean }>();
  /** The last response that began on a connection. */
  const inUse = new Map<string, ServerResponse>();
  const inProgress = new Set<ServerResponse>();
  let isDraining = false;
  let isStopping = false;
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    connections.set(key, { socket, isOld: createAgeLimit(nowMs) });
    socket.once('close', () => {
      connections.delete(key);
      inUse.delete(key);
    });
  });
  const drain = () => {
    isDraining = true;
    for (const response of inProgress) response.shouldKeepAlive = false;
  };
  return {
    begin: ({ socket }: IncomingMessage, response: ServerResponse) => {
      const key = keyOf(socket);
      inUse.set(key, response);
      inProgress.add(response);
      if (isDraining || connections.get(key)?.isOld()) response.shouldKeepAlive = false;
      response.once('close', () => {
        inProgress.delete(response);
        // A request that waited for this response has begun already.
        if (inUse.get(key) !== response) return;
        inUse.delete(key);
        // The response may have begun as `keep-alive`, before the stop.
        if (isStopping) socket.destroySoon();
      });
    },
    /** Every response from now on says `Connection: close`. */
    drain,
    /** Accepts no more connections, and resolves when all are closed. A slow client's connection is closed after 15 seconds. */
    stop: async () => {
      drain();
      isStopping = true;
      const closed = once(server, 'close');
      // The HTTP server's own method also cuts off responses that wait in memory for a slow client.
      TcpServer.prototype.close.call(server);
      for (const [key, { socket }] of connections) if (!inUse.has(key)) socket.destroy();
      const timer = setTimeout(() => {
        logger.warn({ connections: connections.size }, 'closed connections with unread responses');
        for (const { socket } of connections.values()) socket.destroy();
      }, stopTimeoutMs);
      await closed;
      clearTimeout(timer);
    },
  };
}
