import { readdirSync, readFileSync } from 'node:fs';

/** A process of this machine, and the command line that it was started with, its words separated by spaces. */
export type Process = { pid: number; parent: number; command: string };

/** Returns the processes that a process has started, directly or through others. Leaves out zombies. */
export function descendantsOf(pid: number): Process[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap(readProcess);
  const found = new Set([pid]);
  for (let before = 0; before < found.size;) {
    before = found.size;
    const started = all.filter(({ parent }) => found.has(parent));
    for (const { pid: startedPid } of started) found.add(startedPid);
  }
  found.delete(pid);
  return all.filter((process) => found.has(process.pid));
}

/** Whether the process still runs, and no other process has taken over its number. */
export const isRunning = ({ pid, command }: Process): boolean =>
  readProcess(String(pid)).some((now) => now.command === command);

function readProcess(pid: string): Process[] {
  try {
    const [, state, parent] = /^.*\) (\S) (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    return state === 'Z' ? [] : [{ pid: Number(pid), parent: Number(parent), command }];
  } catch {
    // The process has ended since its listing.
    return [];
  }
}
