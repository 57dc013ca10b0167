import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder, type TemporaryFolder } from '../dev-servers/temporary-folder.ts';

/** The folder of one run: the servers' data, the certificates and the logs. */
export type RunFolder = TemporaryFolder & { servers: string; log: (service: string) => string };

export async function createRunFolder(): Promise<RunFolder> {
  const { path, release } = await temporaryFolder('support-demo-');
  const servers = join(path, 'servers');
  await mkdir(servers);
  return { path, release, servers, log: (service) => join(path, `${service}.log`) };
}

/** Removes the folder. With `keepLogs`, keeps the logs of the services and the servers. */
export async function removeRunFolder(
  { path, servers, release }: RunFolder,
  { keepLogs }: { keepLogs: boolean },
): Promise<void> {
  const removed = { recursive: true, force: true, maxRetries: 3 } as const;
  if (!keepLogs) {
    await rm(path, removed);
    return release();
  }
  for (const entry of await readdir(servers, { recursive: true, withFileTypes: true })) {
    // Kafka's topic segments also end in .log, but their names are numbers.
    if (entry.isFile() && /^[a-z][\w-]*\.log$/.test(entry.name)) {
      await rename(join(entry.parentPath, entry.name), join(path, entry.name));
    }
  }
  for (const name of await readdir(path)) if (!name.endsWith('.log')) await rm(join(path, name), removed);
  return release();
}
