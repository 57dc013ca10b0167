import { connect, createServer, type Server, type Socket } from 'node:net';
import { freePort } from '../../infra/dev-servers/native/ports.ts';
import { listen } from '../../shared/runtime/listen.ts';

/** The trouble on the proxy's connections. A test sets the fields; the proxy reads them at each chunk. */
type Trouble = {
  /** The delay of each reply, in milliseconds. */
  delayMs: number;
  /** The number of replies to writes that the proxy still loses: the store has written, then the connection breaks. */
  repliesToLose: number;
  /** Holds each request with this text, and everything after it on its connection, until `release`. */
  holding: string | null;
  /** A connection that is opened or used while this is true never answers again. */
  silent: boolean;
  /** The store answers `hello` like a member that is no longer the primary. */
  isDemoted: boolean;
};

/** A proxy of the store that a test can disturb: connections reach the store while the proxy listens. */
export function createStoreProxy(mongodbUrl: string) {
  const target = new URL(mongodbUrl.replace('mongodb:', 'http:'));
  const sockets = new Set<Socket>();
  const trouble: Trouble = { delayMs: 0, repliesToLose: 0, holding: null, silent: false, isDemoted: false };
  const held = new Set<Socket>();
  let server: Server | null = null;
  let silentCount = 0;
  const forward = (client: Socket) => {
    const upstream = connect(Number(target.port || 27_017), target.hostname);
    let isSilent = trouble.silent;
    if (isSilent) silentCount += 1;
    let hasWritten = false;
    client.on('data', (chunk: Buffer) => {
      isSilent ||= trouble.silent;
      if (isSilent) return;
      hasWritten = isWrite(chunk);
      if (trouble.holding !== null && chunk.includes(trouble.holding)) {
        upstream.cork();
        held.add(upstream);
      }
      upstream.write(chunk);
    });
    upstream.on('data', (received: Buffer) => {
      isSilent ||= trouble.silent;
      if (isSilent) return;
      const chunk = trouble.isDemoted ? demoted(received) : received;
      if (hasWritten && trouble.repliesToLose > 0) {
        trouble.repliesToLose -= 1;
        client.destroy();
      } else if (trouble.delayMs > 0) setTimeout(() => client.write(chunk), trouble.delayMs);
      else client.write(chunk);
    });
    for (const [socket, peer] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket
        .on('error', () => peer.destroy())
        .on('close', () => {
          sockets.delete(socket);
          held.delete(socket);
          peer.destroy();
        });
    }
  };
  return {
    trouble,
    /** The number of connections with a held request. */
    heldCount: () => held.size,
    /** The number of connections that were opened while the proxy was silent. */
    silentCount: () => silentCount,
    /** Forwards the held requests, and holds no more. */
    release: () => {
      trouble.holding = null;
      for (const socket of held) socket.uncork();
      held.clear();
    },
    /**
     * Listens on the port, by default on a port that stays free between a `cut` and the next `listen`; returns the
     * port.
     */
    listen: async (port?: number) => {
      // A test that fails before its `cut` does not keep jest running.
      server = createServer(forward).unref();
      const free = await freePort();
      return (await listen(server, '127.0.0.1', port ?? free)).port;
    },
    /** Closes every connection and refuses new ones. */
    cut: async () => {
      const closed = new Promise((resolve) => (server ? server.close(resolve) : resolve(null)));
      for (const socket of sockets) socket.destroy();
      sockets.clear();
      await closed;
    },
  };
}

/** Whether a write command begins here: its name is a BSON string. */
const isWrite = (chunk: Buffer): boolean =>
  chunk.includes('\u0002update\0') || chunk.includes('\u0002insert\0');

/** Turns a reply to `hello` into the reply of a member that is not the primary. Returns other replies unchanged. */
function demoted(chunk: Buffer): Buffer {
  const field = Buffer.from('\u0008isWritablePrimary\0');
  const at = chunk.indexOf(field);
  if (at < 0) return chunk;
  const changed = Buffer.from(chunk);
  changed[at + field.length] = 0;
  return changed;
}

/** With this option the driver notices soon that the store is back. Its limit on the wait for a connection stays. */
const frequentHeartbeats = 'heartbeatFrequencyMS=500';

/** The address of the proxied store, with the store's credentials and these options. */
export const proxiedUrl = (port: number, options = frequentHeartbeats) =>
  `mongodb://${credentials()}127.0.0.1:${port}/?directConnection=true&${options}`;

/** The store's credentials, if any, with the @ after them. */
const credentials = () => /^mongodb:\/\/([^/@]*@)?/.exec(process.env.MONGODB_URL ?? '')?.[1] ?? '';
