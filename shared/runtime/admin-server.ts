import { createServer, type Server } from 'node:http';
import type { Registry } from 'prom-client';
import { startedOrExit } from './lifecycle.ts';
import { listen } from './listen.ts';
import type { Logger } from './logger.ts';

/** Returns null if the check passes, otherwise the reason in one line. */
type Probe = () => string | null;

type Probes = { live: Probe; ready: Probe; metrics: Registry };

/** A response to the platform. */
type ProbeResponse = { status: number; type: string; body: string };

type AdminAddress = { ADMIN_HOST?: string | undefined; ADMIN_PORT?: number | undefined };

/**
 * For a `main`: serves `/livez`, `/readyz` (200 `ok`, or 503 and the reason) and `/metrics` to the platform if
 * `ADMIN_PORT` is set. The port is separate, because clients of the API must not reach them. If it is in use, the
 * process exits with code 1.
 */
export async function serveAdmin(
  { ADMIN_HOST: host, ADMIN_PORT: port }: AdminAddress,
  logger: Logger,
  { live, ready, metrics }: Probes,
): Promise<Server | null> {
  if (port === undefined) return null;
  const probes = new Map<string | undefined, Probe>([
    ['/livez', live],
    ['/readyz', ready],
  ]);
  const respond = async (path: string | undefined): Promise<ProbeResponse> => {
    const type = 'text/plain; charset=utf-8';
    if (path === '/metrics') {
      const body = await metrics.metrics();
      return { status: 200, type: metrics.contentType, body };
    }
    const probe = probes.get(path);
    if (!probe) return { status: 404, type, body: 'not found: /livez, /readyz and /metrics are here\n' };
    const reason = probe();
    if (reason !== null) return { status: 503, type, body: `${reason}\n` };
    return { status: 200, type, body: 'ok\n' };
  };
  const respondOrFail = async (path: string | undefined): Promise<ProbeResponse> => {
    try {
      return await respond(path);
    } catch (error) {
      return { status: 503, type: 'text/plain', body: `${String(error)}\n` };
    }
  };
  const server = createServer((request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end('GET and HEAD are served here\n');
      return;
    }
    const [path] = request.url?.split('?') ?? [];
    // It never rejects: `respondOrFail` turns an error into a response.
    void respondOrFail(path).then(({ status, type, body }) => {
      response.writeHead(status, { 'content-type': type }).end(body);
    });
  });
  const address = await startedOrExit(logger, listen(server, host, port));
  logger.info({ port: address.port }, 'admin server listening');
  return server;
}
