import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The TCP connection of each response in progress. Over TLS the response's own socket is another object, which cannot
 * be reset.
 */
const connections = new WeakMap<ServerResponse, Socket>();

export function rememberConnection(response: ServerResponse, connection: Socket): void {
  connections.set(response, connection);
}

/**
 * Ends an incomplete response by a reset of its connection. A client or a proxy of HTTP/1.0, such as nginx by default,
 * would take a close for the normal end of the body.
 */
export function interruptResponse(response: ServerResponse): void {
  const connection = connections.get(response) ?? response.socket;
  // A finished response may still be on its way to the client, and a reset would lose its last bytes.
  if (!response.writableFinished) connection?.resetAndDestroy();
  response.destroy();
}
