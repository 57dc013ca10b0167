import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls';

/** A certificate with its chain, and its key, in PEM. */
export type Credentials = { cert: string; key: string };

/** First byte of a TLS handshake; no HTTP request starts with it. */
const handshakeByte = 0x16;
const handshakeTimeoutMs = 10_000;
/** The time until the first byte of a connection. After it, the server closes the connection. */
const firstByteTimeoutMs = 10_000;
/** How long the server drops further bytes of a refused client, because an immediate close could lose the answer. */
const answeredMs = 5_000;

/**
 * Makes `server` accept only TLS. `refuse` answers a connection that begins with other bytes, which are never parsed,
 * because a client without TLS could send thousands of requests in one piece. The server's limits also cover such a
 * connection.
 */
export function acceptTls(
  server: Server,
  credentials: Credentials,
  refuse: (socket: Socket) => void,
): TlsServer {
  const tls = createTlsServer({ ...credentials, handshakeTimeout: handshakeTimeoutMs });
  // After a failed handshake there is no client to answer.
  tls.on('tlsClientError', (_, socket) => socket.destroy());
  // The HTTP server's own listener gets the decrypted connections.
  const listeners = server.listeners('connection') as ((socket: Socket) => void)[];
  const accept = (socket: Socket) => listeners.forEach((listener) => listener.call(server, socket));
  server.removeAllListeners('connection').on('connection', (socket) => {
    peek(socket, (chunk) => {
      if (chunk[0] === handshakeByte) {
        socket.unshift(chunk);
        tls.emit('connection', socket);
        return;
      }
      refuse(socket);
      const timer = setTimeout(() => socket.destroy(), answeredMs);
      socket.once('close', () => clearTimeout(timer)).resume();
    });
  });
  tls.on('secureConnection', accept);
  return tls;
}

/** Reads the first bytes, and pauses the socket. */
function peek(socket: Socket, then: (chunk: Buffer) => void): void {
  const drop = () => socket.destroy();
  socket.on('error', drop);
  socket.setTimeout(firstByteTimeoutMs, drop);
  // A socket of this server stays half open, so a client that leaves before its first byte would hold it.
  socket.once('end', drop);
  socket.once('data', (chunk: Buffer) => {
    socket.pause();
    socket.setTimeout(0, drop);
    if (chunk[0] === handshakeByte) socket.removeListener('end', drop);
    then(chunk);
  });
}
