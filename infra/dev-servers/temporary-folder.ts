import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onParentDeath } from './parent-death.ts';

/** The time before the folder is removed, in seconds: child processes may still write to it. */
const removalDelaySeconds = 3;

type TemporaryFolder = {
  path: string;
  remove: () => Promise<void>;
  /** Cancels the removal: the caller has removed the folder, or keeps it. */
  cancelRemoval: () => Promise<void>;
};

/** Creates a temporary folder. If this process dies first, a shell removes the folder unless `cancelRemoval` ran. */
export async function temporaryFolder(prefix: string): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), prefix));
  const script = `sleep ${removalDelaySeconds}; rm -rf "$1"`;
  const cancelRemoval = onParentDeath(['sh', '-c', script, 'sh', path]).revoke;
  const remove = async () => {
    await rm(path, { recursive: true, force: true });
    await cancelRemoval();
  };
  return { path, remove, cancelRemoval };
}
