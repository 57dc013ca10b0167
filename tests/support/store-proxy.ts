import { connect, createServer, type Server, type Socket } from 'node:net';

/** A store that a test can take away: connections to `port` reach the real one while it is listening. */
export function createStoreProxy(mongodbUrl: string) {
  const target = new URL(mongodbUrl.replace('mongodb:', 'http:'));
  const sockets = new Set<Socket>();
  let server: Server | null = null;
  const forward = (client: Socket) => {
    const upstream = connect(Number(target.port || 27_017), target.hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => to.destroy()).on('close', () => to.destroy());
    }
  };
  return {
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

/** The address of the store behind the proxy; the driver notices its absence and return fast. */
export const proxiedUrl = (port: number) =>
  `mongodb://127.0.0.1:${port}/?directConnection=true&serverSelectionTimeoutMS=300&heartbeatFrequencyMS=500`;
