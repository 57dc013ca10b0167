import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onParentDeath } from './parent-death.ts';

/** The time before the folder is removed, in seconds: child processes may still write to it. */
const removalDelaySeconds = 3;

type TemporaryFolder = {
  path: string;
  /** Cancels the removal: the caller has removed the folder, or keeps it. */
  release: () => Promise<void>;
};

/** Creates a temporary folder. It is removed when this process dies without releasing it. */
export async function temporaryFolder(prefix: string): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), prefix));
  const remove = `sleep ${removalDelaySeconds}; rm -rf "$1"`;
  return { path, release: onParentDeath(['sh', '-c', remove, 'sh', path]).revoke };
}
