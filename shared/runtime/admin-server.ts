import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';

/** Returns null if the check passes, otherwise the reason in one line. */
type Probe = () => Promise<string | null> | string | null;

/**
 * Serves `/livez`, `/readyz` (200 `ok`, or 503 and the reason) and `/metrics` to the platform, on a port that clients
 * of the API do not reach. Any method but GET and HEAD is 405. Returns the server and its port.
 */
export async function startAdminServer(options: {
  /** All addresses if absent. */
  host: string | undefined;
  port: number;
  live: Probe;
  ready: Probe;
  metrics: Registry;
}): Promise<{ server: Server; port: number }> {
  const respond = async (path: string | undefined): Promise<[number, string, string]> => {
    const text = 'text/plain; charset=utf-8';
    if (path === '/metrics') return [200, options.metrics.contentType, await options.metrics.metrics()];
    const probe = path === '/livez' ? options.live : path === '/readyz' ? options.ready : null;
    if (!probe) return [404, text, 'not found: /livez, /readyz and /metrics are here\n'];
    const reason = await probe();
    return reason === null ? [200, text, 'ok\n'] : [503, text, `${reason}\n`];
  };
  const server = createServer((request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end('GET and HEAD are served here\n');
      return;
    }
    void respond(request.url?.split('?')[0])
      .catch((error: unknown): [number, string, string] => [503, 'text/plain', `${String(error)}\n`])
      .then(([status, type, body]) => response.writeHead(status, { 'content-type': type }).end(body));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: options.host, port: options.port }, resolve);
  });
  return { server, port: (server.address() as AddressInfo).port };
}
