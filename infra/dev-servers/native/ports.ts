import { randomInt } from 'node:crypto';
import { connect, createServer } from 'node:net';
import { listen } from '../../../shared/runtime/listen.ts';

/** The range of ports. Systems pick ports for clients above it: from 32,768 on Linux, from 49,152 on others. */
const lowest = 15_000;
const highest = 32_000;

/** Returns different loopback ports that were free a moment ago, and that the system gives to no client. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(lowest, highest);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

/** Returns one such port. */
export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await listen(server, '127.0.0.1', port);
  } catch {
    return false;
  }
  await server[Symbol.asyncDispose]();
  return true;
}

/** Whether a server accepts connections on the port within 1 s. */
export const acceptsConnections = (port: number, host = '127.0.0.1'): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host, timeout: 1_000 });
    const finish = (open: boolean) => {
      socket.destroy();
      resolve(open);
    };
    socket.once('connect', () => finish(true));
    socket.once('error', () => finish(false));
    // After a stall, Node runs the timer before it reads that the connection is open.
    socket.once('timeout', () => setImmediate(finish, false));
  });
