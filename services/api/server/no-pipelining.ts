import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Listener } from './server.ts';

/** What a connection has under way, and what waits for it, oldest first. */
type Connection = { isBusy: boolean; waiting: (() => void)[] };

/**
 * Has the requests of each connection handled one after the other. Node begins all that a client sends without
 * waiting for answers, and holds each answer until the earlier ones are read: to one that reads none, thousands
 * of whole pages. While a request waits, no more is read from its connection than has arrived with it.
 */
export function noPipelining(listener: Listener): Listener {
  const connections = new WeakMap<Socket, Connection>();
  const connectionOf = (socket: Socket) => {
    const known = connections.get(socket);
    if (known) return known;
    const connection: Connection = { isBusy: false, waiting: [] };
    connections.set(socket, connection);
    // Node resumes its reading after each request that it has read whole.
    socket.on('resume', () => {
      if (connection.waiting.length > 0) socket.pause();
    });
    return connection;
  };
  const begin = (request: IncomingMessage, response: ServerResponse, connection: Connection) => {
    const { socket } = request;
    connection.isBusy = true;
    response.once('close', () => {
      connection.isBusy = false;
      const next = connection.waiting.shift();
      // Nobody may be left to answer to, or the answer just given was announced as the last.
      if (!next || !socket.writable) return;
      if (connection.waiting.length === 0) socket.resume();
      next();
    });
    return listener(request, response);
  };
  return (request, response) => {
    const connection = connectionOf(request.socket);
    if (!connection.isBusy) return begin(request, response, connection);
    connection.waiting.push(() => void begin(request, response, connection));
    request.socket.pause();
    return undefined;
  };
}
