import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { createServer as createTlsServer, type Server as TlsServer, type TLSSocket } from 'node:tls';

/** A certificate with its chain, and its key, in PEM. */
export type Credentials = { cert: string; key: string };

/** First byte of a TLS handshake. No HTTP request begins with it. */
const handshakeByte = 0x16;
const handshakeTimeoutMs = 10_000;
/** A client that connects and sends nothing is closed after this long. */
const firstByteTimeoutMs = 10_000;

/**
 * Has `server` speak TLS with those who begin a handshake, and plain HTTP with others: so that a plain
 * request gets an answer that says what is wrong, and probes need no certificate. Its limits and its list of
 * connections hold for both. Connections that agree on HTTP/2 go to `acceptHttp2`.
 */
export function acceptTls(
  server: Server,
  credentials: Credentials,
  acceptHttp2: (socket: TLSSocket) => void,
): TlsServer {
  const serve = server.listeners('connection') as ((socket: Socket) => void)[];
  const accept = (socket: Socket) => {
    for (const listener of serve) listener.call(server, socket);
  };
  const tls = createTlsServer({
    ...credentials,
    handshakeTimeout: handshakeTimeoutMs,
    // Clients that offer names and find none of theirs here are refused by TLS, those of HTTP/1.0 included.
    ALPNProtocols: ['h2', 'http/1.1', 'http/1.0'],
  });
  tls.on('secureConnection', (socket: TLSSocket) => {
    if (socket.alpnProtocol === 'h2') acceptHttp2(socket);
    else accept(socket);
  });
  // A failed handshake is the client's affair: its socket is closed, and there is nobody to answer to.
  tls.on('tlsClientError', (_, socket) => socket.destroy());
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    peek(socket, (first) => {
      if (first === handshakeByte) tls.emit('connection', socket);
      else accept(socket);
    });
  });
  return tls;
}

/** Looks at the first byte and puts it back. */
function peek(socket: Socket, then: (first: number | undefined) => void): void {
  const drop = () => socket.destroy();
  socket.on('error', drop);
  socket.setTimeout(firstByteTimeoutMs, drop);
  // A socket of this server stays half open; whoever leaves without a word is not waited for.
  socket.once('end', drop);
  socket.once('data', (chunk: Buffer) => {
    socket.pause();
    socket.setTimeout(0, drop);
    socket.removeListener('timeout', drop);
    socket.removeListener('end', drop);
    socket.unshift(chunk);
    then(chunk[0]);
    // Only a socket that Node's HTTP took over is still read here; TLS has taken the handle itself.
    if (chunk[0] !== handshakeByte) socket.resume();
  });
}
