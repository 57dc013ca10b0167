import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask, eventually, writeCertificate } from './requests.ts';
import { startChild, type Child } from './api-process.ts';
import { mongoUrl, startStore, type TestStore } from './test-api.ts';

/** A store and a certificate of a test file's own, and the processes of the API that it starts on them. */
export type Children = {
  store: TestStore;
  folder: string;
  /** The settings that have the API serve TLS. */
  tls: Record<string, string>;
  start: (settings: Record<string, string>) => Promise<Child>;
  /** With TLS, behind a proxy on this host too, without a rate limit; resolves when it serves pages. */
  startServing: (more?: Record<string, string>) => Promise<Child>;
  close: () => Promise<void>;
};

export async function openChildren(): Promise<Children> {
  const store = await startStore();
  const folder = mkdtempSync(join(tmpdir(), 'api-tests-'));
  const tls = await writeCertificate(folder);
  const running: Child[] = [];
  const start = async (settings: Record<string, string>) => {
    const child = await startChild({ MONGODB_URL: mongoUrl(), DATABASE_NAME: store.name, ...settings });
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
