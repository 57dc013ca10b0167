import { readdirSync, readFileSync } from 'node:fs';

/** A process of this machine, and the command line that it was started with, its words separated by spaces. */
export type Process = { pid: number; parent: number; command: string };

/** Returns the processes that a process has started, directly or through others. Leaves out zombies. */
export function descendantsOf(pid: number): Process[] {
  const byParent = Map.groupBy(runningProcesses(), ({ parent }) => parent);
  const descendants: Process[] = [];
  const unvisited = [pid];
  for (const parent of unvisited) {
    const children = byParent.get(parent) ?? [];
    descendants.push(...children);
    // The loop also visits the elements that it adds.
    unvisited.push(...children.map((child) => child.pid));
  }
  return descendants;
}

function runningProcesses(): Process[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(readProcess).filter((process) => process !== null);
}

/** Whether the process still runs, and no other process has taken over its number. */
export const isRunning = ({ pid, command }: Process): boolean =>
  readProcess(String(pid))?.command === command;

/** Null for a zombie, or if the process has ended. */
function readProcess(pid: string): Process | null {
  try {
    const [, state, parent] = /^.*\) (\S) (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    return state === 'Z' ? null : { pid: Number(pid), parent: Number(parent), command };
  } catch {
    return null;
  }
}
