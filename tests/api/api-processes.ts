import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask, writeCertificate } from './requests.ts';
import { eventually } from '../support/eventually.ts';
import { startApiProcess, type ApiProcess } from './api-process.ts';
import { mongoUrl, startStore, type TestStore } from './test-api.ts';

/** The store and certificate of one test file, and the API processes that it starts on them. */
export type ApiProcesses = {
  store: TestStore;
  folder: string;
  /** The settings for TLS. */
  tls: Record<string, string>;
  start: (settings: Record<string, string>) => Promise<ApiProcess>;
  /** Starts the API with TLS, a trusted proxy on this host and no rate limit; resolves when it serves pages. */
  startServing: (more?: Record<string, string>) => Promise<ApiProcess>;
  close: () => Promise<void>;
};

export async function openApiProcesses(): Promise<ApiProcesses> {
  const store = await startStore();
  const folder = mkdtempSync(join(tmpdir(), 'api-tests-'));
  const tls = await writeCertificate(folder);
  const running: ApiProcess[] = [];
  const start = async (settings: Record<string, string>) => {
    const child = await startApiProcess({ MONGODB_URL: mongoUrl(), DATABASE_NAME: store.name, ...settings });
    running.push(child);
    return child;
  };
  return {
    store,
    folder,
    tls,
    start,
    startServing: async (more = {}) => {
      const open = { API_TRUSTED_PROXIES: '127.0.0.1', RATE_LIMIT_REQUESTS: '0', ADMIN_PORT: '0' };
      const child = await start({ ...tls, ...open, ...more });
      await eventually(async () => (await ask(child, '/v1/tickets')).status === 200);
      return child;
    },
    close: async () => {
      for (const child of running) await child.stop();
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}
