import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { specFor } from '../../services/api/openapi/spec-for.ts';
import { ask, writeCertificate, type Target } from '../api/requests.ts';
import { documented } from '../support/documented.ts';
import { created } from '../support/entities.ts';
import { eventually } from '../support/eventually.ts';
import { freePorts } from '../../infra/dev-servers/native/ports.ts';
import { startServer, type Server } from '../../infra/dev-servers/native/server.ts';
import { installValkey, valkeyPart } from '../../infra/dev-servers/native/valkey.ts';
import { startService, type Service } from '../../infra/service.ts';
import { createStoreProxy, proxiedUrl } from '../support/store-proxy.ts';
import { useProjector } from '../support/use-projector.ts';

const token = 'svc_live_monitoring0123456789';

const adminPort = async (service: Service): Promise<number> =>
  Number((await service.logged('admin server listening')).port);

/**
 * A projector and the API as processes, with a ticket that the API serves over TLS. The API reaches MongoDB through a
 * proxy, and shares its rate limit in Valkey. The fields of `processes` exist once a test runs.
 */
export function useServices() {
  const sources = useProjector({ projectors: 0 });
  const processes = {} as { projector: Service; api: Service; folder: string; valkey: Server };
  const proxy = createStoreProxy(process.env.MONGODB_URL ?? '');
  let proxyPort: number;
  let target: Target;

  beforeAll(async () => {
    processes.folder = mkdtempSync(join(tmpdir(), 'monitoring-'));
    processes.projector = sources.startProcess({ ADMIN_PORT: '0' });
    const words = await installValkey((line) => process.stdout.write(`${line}\n`));
    const [valkeyPort = 0] = await freePorts(1);
    processes.valkey = await startServer([valkeyPart(words, join(processes.folder, 'valkey'), valkeyPort)]);
    proxyPort = await proxy.listen(0);
    const settings = {
      MONGODB_URL: proxiedUrl(proxyPort),
      DATABASE_NAME: sources.environment.name,
      API_HOST: '127.0.0.1',
      API_PORT: '0',
      ADMIN_PORT: '0',
      RATE_LIMIT_REQUESTS: '100000',
      RATE_LIMIT_STORE_URL: `redis://127.0.0.1:${valkeyPort}`,
      ...(await writeCertificate(processes.folder)),
    };
    processes.api = startService('api', settings);
    const tokenSha256 = createHash('sha256').update(token).digest('hex');
    await sources.publish(created('apiKey', 'key_1', { tokenSha256 }), created('ticket', 'ti_1'));
    await sources.applied();
    const port = Number((await processes.api.logged('listening')).port);
    target = { port, isTls: true, holdToDocument: documented(specFor(settings)) };
    await eventually(async () => (await get('/v1/tickets/ti_1')) === 200);
  }, 300_000);
  afterAll(async () => {
    await processes.api.stop();
    await processes.valkey.stop();
    await proxy.cut();
    rmSync(processes.folder, { recursive: true });
  }, 60_000);

  /** Requests a path of the API; returns the status. */
  const get = async (path: string): Promise<number> =>
    (await ask(target, path, { headers: { Authorization: `Bearer ${token}` } })).status;
  return {
    ...sources,
    processes,
    get,
    /** The API's way to MongoDB. */
    store: { cut: proxy.cut, restore: () => proxy.listen(proxyPort) },
    ports: async () => ({
      projector: await adminPort(processes.projector),
      api: await adminPort(processes.api),
    }),
  };
}
