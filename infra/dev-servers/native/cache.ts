import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { mustRun } from './run.ts';

/** The folder that keeps all downloads and builds between runs, outside the checkout. */
export const cacheDir = (environment: Record<string, string | undefined> = process.env): string =>
  join(environment.XDG_CACHE_HOME || join(homedir(), '.cache'), 'support-read-models');

/**
 * Returns the folder. If no earlier run has filled it, `fill` fills it first. The folder appears only when it is
 * complete: an interrupted `fill` leaves a partial folder, which the next run removes. Of two parallel runs, one fills
 * the folder and the other waits.
 */
export async function installOnce(folder: string, fill: (partial: string) => Promise<void>): Promise<string> {
  if (existsSync(folder)) return folder;
  await mkdir(dirname(folder), { recursive: true });
  await withLock(`${folder}.lock`, async () => {
    if (existsSync(folder)) return;
    await removePartials(folder);
    const partial = `${folder}.partial-${process.pid}`;
    await mkdir(partial);
    await fill(partial);
    await rename(partial, folder);
  });
  return folder;
}

/** Runs `work` while no other process holds the lock. The kernel releases the lock when the holder dies. */
export async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  // Only Linux installs native servers, so other systems share nothing.
  if (process.platform !== 'linux') return work();
  const holder = spawn('flock', [file, 'sh', '-c', 'echo held; cat'], { stdio: ['pipe', 'pipe', 'ignore'] });
  await new Promise<void>((resolve, reject) => {
    holder.once('error', reject);
    holder.once('close', () => reject(new Error(`${file} could not be locked`)));
    holder.stdout.once('data', () => resolve());
  });
  try {
    return await work();
  } finally {
    const released = new Promise((resolve) => holder.once('close', resolve));
    holder.stdin.end();
    await released;
  }
}

async function removePartials(folder: string): Promise<void> {
  const prefix = `${basename(folder)}.partial-`;
  const leftovers = (await readdir(dirname(folder))).filter((name) => name.startsWith(prefix));
  for (const name of leftovers) {
    // An incomplete root file system may contain mounts. rm skips them and never empties them.
    await mustRun('rm', ['-rf', '--one-file-system', join(dirname(folder), name)]);
  }
}
