import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

export type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

/** Whether a request of the connection is in progress, and the requests that wait for it, oldest first. */
type Connection = { isBusy: boolean; waiting: (() => void)[] };

/**
 * Handles the requests of each connection one after another. By default Node starts every pipelined request and holds
 * each response until the client has read the earlier ones: for a client that reads none, thousands of full pages.
 * While a request waits, nothing more is read from its connection.
 */
export function noPipelining(listener: Listener): Listener {
  const connections = new WeakMap<Socket, Connection>();
  const connectionOf = (socket: Socket) => {
    const known = connections.get(socket);
    if (known) return known;
    const connection: Connection = { isBusy: false, waiting: [] };
    connections.set(socket, connection);
    // Node resumes the socket after each request that it has read completely.
    socket.on('resume', () => {
      if (connection.waiting.length > 0) socket.pause();
    });
    return connection;
  };
  const handle = (request: IncomingMessage, response: ServerResponse, connection: Connection) => {
    const { socket } = request;
    connection.isBusy = true;
    response.once('close', () => {
      connection.isBusy = false;
      const next = connection.waiting.shift();
      // The client may have left, or the last response may have said `Connection: close`.
      if (!next || !socket.writable) return;
      if (connection.waiting.length === 0) socket.resume();
      next();
    });
    return listener(request, response);
  };
  return (request, response) => {
    const connection = connectionOf(request.socket);
    if (!connection.isBusy) return handle(request, response, connection);
    connection.waiting.push(() => void handle(request, response, connection));
    request.socket.pause();
    return undefined;
  };
}
