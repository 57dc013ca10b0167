import { specFor } from '../../services/api/openapi/spec-for.ts';
import { documented, type HoldToDocument } from '../support/documented.ts';
import { startService, type Service } from '../support/service.ts';

export type ApiProcess = Service & { port: number; holdToDocument: HoldToDocument };

/** The API as a process, with these settings alone; resolves when it listens. */
export async function startApiProcess(settings: Record<string, string>): Promise<ApiProcess> {
  const service = startService('api', { API_HOST: '127.0.0.1', API_PORT: '0', ...settings });
  const { port } = await service.logged('listening');
  const stop: Service['stop'] = async (signal) => {
    const ended = await service.stop(signal);
    const written = service.stdout().split('\n');
    if (written.length !== service.log.length) throw new Error('the API wrote to stdout what is no log line');
    return ended;
  };
  return { ...service, stop, port: Number(port), holdToDocument: documented(specFor(settings)) };
}

/** Runs the API until it exits by itself; returns its exit code and what it wrote to stderr. */
export async function runToExit(settings: Record<string, string>) {
  const { exited, stderr } = startService('api', settings);
  return { code: await exited, errors: stderr() };
}
