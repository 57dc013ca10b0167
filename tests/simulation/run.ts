import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Mutation } from './mutations.ts';

type Run = { code: number | null; output: string };

/** Runs the simulation on the sources in `folder`, in a process of its own. */
export async function runSimulation(folder: string, schedules: number, seed: number): Promise<Run> {
  const args = ['tests/simulation/main.ts', '--schedules', String(schedules), '--seed', String(seed)];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => {
      output += text;
    });
  }
  const code = await new Promise<number | null>((end) => child.once('close', end));
  return { code, output };
}

/** Runs it on a copy of the sources with a planted fault. */
export async function runMutated(mutation: Mutation, schedules: number, seed: number): Promise<Run> {
  const folder = await mkdtemp(join(tmpdir(), 'support-simulation-'));
  try {
    const parts = [
      'services/projector',
      'services/operations',
      'shared',
      'infra/sample-data',
      'tests',
      'package.json',
    ];
    for (const part of parts) await cp(part, join(folder, part), { recursive: true });
    await symlink(resolve('node_modules'), join(folder, 'node_modules'));
    const path = join(folder, mutation.file);
    let text = await readFile(path, 'utf8');
    for (const [find, replace] of Object.entries(mutation.edits)) text = text.replace(find, () => replace);
    await writeFile(path, text);
    return await runSimulation(folder, schedules, seed);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
