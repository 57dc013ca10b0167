import { connect, createServer } from 'node:net';
import { listen } from '../../../shared/runtime/listen.ts';

/** Returns `count` different loopback ports that were free a moment ago. Holds each until all are known. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const addresses = await Promise.all(servers.map((server) => listen(server, '127.0.0.1', 0)));
  await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
  return addresses.map(({ port }) => port);
}

/** Whether a server accepts connections on the port within 1 s. */
export const answers = (port: number, host = '127.0.0.1'): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host, timeout: 1_000 });
    const finish = (open: boolean) => {
      socket.destroy();
      resolve(open);
    };
    socket.once('connect', () => finish(true));
    socket.once('error', () => finish(false));
    // After a stall, the event loop fires timers before it learns of a connection.
    socket.once('timeout', () => setImmediate(finish, false));
  });
