import { connect, createServer, type Server, type Socket } from 'node:net';

/** What a test may do to the connections that pass the proxy. */
export type Trouble = {
  /** Each reply is held back for so long, in milliseconds. */
  delayMs: number;
  /** So many replies to writes are still to be lost: the store has written, the writer never hears of it. */
  repliesToLose: number;
  /** A request that contains this text, and whatever follows on its connection, waits until this is null again. */
  holding: string | null;
  /** Connections that are open, and those made meanwhile, are silent for ever. */
  silent: boolean;
};

/** A store that a test can trouble: connections to `port` reach the real one while it is listening. */
export function createStoreProxy(mongodbUrl: string) {
  const target = new URL(mongodbUrl.replace('mongodb:', 'http:'));
  const sockets = new Set<Socket>();
  const trouble: Trouble = { delayMs: 0, repliesToLose: 0, holding: null, silent: false };
  const held = new Set<Socket>();
  let server: Server | null = null;
  const forward = (client: Socket) => {
    const upstream = connect(Number(target.port || 27_017), target.hostname);
    let isSilent = trouble.silent;
    let hasWritten = false;
    client.on('data', (chunk) => {
      isSilent ||= trouble.silent;
      if (isSilent) return;
      hasWritten = isWrite(chunk);
      if (trouble.holding !== null && chunk.includes(trouble.holding)) {
        upstream.cork();
        held.add(upstream);
      }
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      isSilent ||= trouble.silent;
      if (isSilent) return;
      if (hasWritten && trouble.repliesToLose > 0) {
        trouble.repliesToLose -= 1;
        client.destroy();
      } else if (trouble.delayMs > 0) setTimeout(() => client.write(chunk), trouble.delayMs);
      else client.write(chunk);
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one
        .on('error', () => other.destroy())
        .on('close', () => {
          sockets.delete(one);
          held.delete(one);
          other.destroy();
        });
    }
  };
  return {
    trouble,
    /** Connections on which a request is held. */
    heldCount: () => held.size,
    /** Lets what is held go on, and holds nothing more. */
    release: () => {
      trouble.holding = null;
      for (const socket of held) socket.uncork();
      held.clear();
    },
    /** Listens on the port, 0 for any free one; gives the one it got. */
    listen: (port: number) =>
      new Promise<number>((resolve) => {
        const listening = createServer(forward);
        server = listening;
        listening.listen(port, '127.0.0.1', () => resolve((listening.address() as { port: number }).port));
      }),
    /** Cuts every connection and refuses further ones. */
    cut: async () => {
      const closed = new Promise((resolve) => (server ? server.close(resolve) : resolve(null)));
      for (const socket of sockets) socket.destroy();
      sockets.clear();
      await closed;
    },
  };
}

/** Whether a command that writes begins here: a BSON string by the command's name. */
const isWrite = (chunk: Buffer): boolean =>
  chunk.includes('\u0002update\0') || chunk.includes('\u0002insert\0');

/** The address of the store behind the proxy; the driver notices its absence and return fast. */
export const proxiedUrl = (port: number) =>
  `mongodb://${credentials()}127.0.0.1:${port}/?directConnection=true&serverSelectionTimeoutMS=300&heartbeatFrequencyMS=500`;

/** Those that the store behind it asks for, if any, with the @ that ends them. */
const credentials = () => /^mongodb:\/\/([^/@]*@)?/.exec(process.env.MONGODB_URL ?? '')?.[1] ?? '';
