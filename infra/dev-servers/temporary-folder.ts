import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onParentDeath } from './on-parent-death.ts';

/** How long what the dying process leaves may go on writing into its folder, in seconds. */
const settledAfterSeconds = 3;

export type TemporaryFolder = {
  path: string;
  /** Leaves the folder to the caller, who has removed it or wants what is in it. */
  release: () => Promise<void>;
};

/** A folder of this process in the system's temporary one, removed when the process dies without releasing it. */
export async function temporaryFolder(prefix: string): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), prefix));
  const remove = `sleep ${settledAfterSeconds}; rm -rf "$1"`;
  return { path, release: onParentDeath(['sh', '-c', remove, 'sh', path]).revoke };
}
