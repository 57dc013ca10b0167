import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeApiCertificate } from '../../infra/certificate.ts';
import { type Service, startService } from '../../infra/service.ts';
import { specFor } from '../../services/api/openapi/write.ts';
import { createAssertDocumented } from '../support/documented.ts';
import { eventually } from '../support/eventually.ts';
import type { Documents } from './builders.ts';
import { ask, type Target } from './requests.ts';
import { mongoUrl, startStore, type TestStore } from './test-api.ts';

export type ApiProcess = Service &
  Target & {
    /** Requests a path from the admin port. */
    admin: (path: string) => Promise<Response>;
  };

type Settings = Record<string, string>;

/** The API as a process, with these settings alone; resolves when it listens. */
async function startApiProcess(settings: Settings): Promise<ApiProcess> {
  const service = startService('api', { API_HOST: '127.0.0.1', API_PORT: '0', ...settings });
  const { port } = await service.logged('listening');
  const stop: Service['stop'] = async (signal) => {
    const ended = await service.stop(signal);
    const written = service.stdout().split('\n');
    // A process that is killed may leave an incomplete line at its end.
    if (signal === 'SIGKILL' && !written.at(-1)?.endsWith('}')) written.pop();
    if (written.length !== service.log.length)
      throw new Error('the API wrote a line to stdout that is no log line');
    return ended;
  };
  const admin = async (path: string) => {
    const listening = await service.logged('admin server listening');
    return fetch(`http://127.0.0.1:${String(listening.port)}${path}`);
  };
  const assertDocumented = createAssertDocumented(specFor(settings));
  return { ...service, stop, port: Number(port), isTls: 'API_TLS_CERT' in settings, assertDocumented, admin };
}

/** The store and certificate of one test file, and the API processes that it starts on them. */
type ApiProcesses = {
  store: TestStore;
  folder: string;
  /** The settings for TLS. */
  tls: Settings;
  start: (settings: Settings) => Promise<ApiProcess>;
  /**
   * Starts the API behind a trusted proxy on this host, without a rate limit; with `tls`, it serves TLS alone. Resolves
   * when it serves pages.
   */
  startServing: (more?: Settings) => Promise<ApiProcess>;
};

/** API processes on a store of their own for the tests of one file. Its fields exist once the first test begins. */
export function useApiProcesses(documents: Documents = {}, url = mongoUrl): ApiProcesses {
  const running: ApiProcess[] = [];
  const start = async (settings: Settings) => {
    const { name } = processes.store;
    const api = await startApiProcess({ MONGODB_URL: url(), DATABASE_NAME: name, ...settings });
    running.push(api);
    return api;
  };
  const startServing = async (more: Settings = {}) => {
    const open = { API_TRUSTED_PROXIES: '127.0.0.1', RATE_LIMIT_REQUESTS: '0', ADMIN_PORT: '0' };
    const api = await start({ ...open, ...more });
    await eventually(async () => (await ask(api, '/v1/tickets')).status === 200);
    return api;
  };
  const processes = { start, startServing } as ApiProcesses;
  beforeAll(async () => {
    processes.store = await startStore(documents, url());
    processes.folder = mkdtempSync(join(tmpdir(), 'api-tests-'));
    processes.tls = (await writeApiCertificate(processes.folder)).settings;
  });
  afterAll(async () => {
    for (const api of running) await api.stop();
    await processes.store.close();
    rmSync(processes.folder, { recursive: true });
  });
  return processes;
}
