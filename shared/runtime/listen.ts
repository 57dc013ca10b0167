import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';

/** Listens on all addresses if there is no host, and on any free port for port 0. Rejects if the port is in use. */
export async function listen(server: Server, host: string | undefined, port: number): Promise<AddressInfo> {
  server.listen(port, host);
  await once(server, 'listening');
  return server.address() as AddressInfo;
}
