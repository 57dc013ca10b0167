import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The folder of one run: the servers' data, the certificates, the logs. */
export type RunFolder = { path: string; servers: string; log: (service: string) => string };

export async function createRunFolder(): Promise<RunFolder> {
  const path = await mkdtemp(join(tmpdir(), 'support-demo-'));
  const servers = join(path, 'servers');
  await mkdir(servers);
  return { path, servers, log: (service) => join(path, `${service}.log`) };
}

/** Removes the folder; with `keepLogs` all of it but the logs. */
export async function removeRunFolder(
  { path }: RunFolder,
  { keepLogs }: { keepLogs: boolean },
): Promise<void> {
  if (!keepLogs) return rm(path, { recursive: true, force: true, maxRetries: 3 });
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory() || entry.name.endsWith('.log')) continue;
    await rm(join(entry.parentPath, entry.name), { force: true });
  }
}
