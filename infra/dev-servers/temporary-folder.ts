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
  release: () => Promise<void>;
};

/** Creates a temporary folder. It is removed when this process dies before it has removed or released it. */
export async function temporaryFolder(prefix: string): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), prefix));
  const script = `sleep ${removalDelaySeconds}; rm -rf "$1"`;
  const release = onParentDeath(['sh', '-c', script, 'sh', path]).revoke;
  const remove = async () => {
    await rm(path, { recursive: true, force: true });
    await release();
  };
  return { path, remove, release };
}
