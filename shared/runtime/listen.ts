import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';

/** Listens; without a host on all addresses, and for port 0 on any free port. Rejects if the port is in use. */
export async function listen(server: Server, host: string | undefined, port: number): Promise<AddressInfo> {
  server.listen(port, host);
  await once(server, 'listening');
  return server.address() as AddressInfo;
}
