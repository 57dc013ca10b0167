import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls';

/** A certificate with its chain, and its key, in PEM. */
export type Credentials = { cert: string; key: string };

/** First byte of a TLS handshake; no HTTP request starts with it. */
const handshakeByte = 0x16;
const handshakeTimeoutMs = 10_000;
/** A connection that has sent nothing for this long is closed. */
const firstByteTimeoutMs = 10_000;

/**
 * Makes `server` accept TLS and plain HTTP on one port. A plain request gets an answer that says what is wrong, and
 * probes need no certificate. The server's limits and connection list cover both.
 */
export function acceptTls(server: Server, credentials: Credentials): TlsServer {
  const tls = createTlsServer({ ...credentials, handshakeTimeout: handshakeTimeoutMs });
  // After a failed handshake there is no client to answer.
  tls.on('tlsClientError', (_, socket) => socket.destroy());
  // The HTTP server's own listener gets the plain and the decrypted connections.
  const listeners = server.listeners('connection') as ((socket: Socket) => void)[];
  const accept = (socket: Socket) => listeners.forEach((listener) => listener.call(server, socket));
  server.removeAllListeners('connection').on('connection', (socket) => {
    peek(socket, (first) => {
      if (first === handshakeByte) tls.emit('connection', socket);
      else accept(socket);
    });
  });
  tls.on('secureConnection', accept);
  return tls;
}

/** Reads the first byte and puts it back. */
function peek(socket: Socket, then: (first: number | undefined) => void): void {
  const drop = () => socket.destroy();
  socket.on('error', drop);
  socket.setTimeout(firstByteTimeoutMs, drop);
  // A socket of this server stays half open: without this a client that leaves silently would hold it.
  socket.once('end', drop);
  socket.once('data', (chunk: Buffer) => {
    socket.pause();
    socket.setTimeout(0, drop);
    socket.removeListener('end', drop);
    socket.unshift(chunk);
    then(chunk[0]);
    // Node's HTTP parser reads from this socket; TLS reads from the handle itself.
    if (chunk[0] !== handshakeByte) socket.resume();
  });
}
