import { readFileSync, readdirSync } from 'node:fs';
import type { Stack } from '../../infra/dev-servers/provider.ts';

/** Linux counts processor time in hundredths of a second. */
const ticksPerSecond = 100;

/** The processor time of a process so far, in seconds. */
export const processorSeconds = (pid: number): number => ticksOf(pid, processTicks) / ticksPerSecond;

/**
 * Reads the processor time of the store so far, in seconds: FerretDB and PostgreSQL, or `mongod`. The stack knows the
 * process ids of its own servers. For other servers every process of these names on this machine counts; null where
 * there is none, as with a remote store.
 */
export function storeProcessorTime(stack: Pick<Stack, 'native'>): () => number | null {
  const { native } = stack;
  if (native) return () => sum(native.pids().store.map(treeTicks)) / ticksPerSecond;
  return () => {
    const pids = readdirSync('/proc').filter(
      (entry) => /^\d+$/.test(entry) && storeNames.test(nameOf(entry)),
    );
    return pids.length === 0 ? null : sum(pids.map((pid) => ticksOf(pid, withReaped))) / ticksPerSecond;
  };
}

const storeNames = /^(postgres|ferretdb|mongod)$/;

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);

type StatFields = { user: number; system: number; reapedUser: number; reapedSystem: number };

const processTicks = ({ user, system }: StatFields) => user + system;
/** Includes ended children: PostgreSQL forks a process for each connection. */
const withReaped = (fields: StatFields) => processTicks(fields) + fields.reapedUser + fields.reapedSystem;

/** The ticks of a process and all its descendants. */
function treeTicks(pid: number): number {
  const children = readOrEmpty(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);
  return ticksOf(pid, withReaped) + sum(children.map(treeTicks));
}

function ticksOf(pid: number | string, count: (fields: StatFields) => number): number {
  const stat = readOrEmpty(`/proc/${pid}/stat`);
  if (stat === '') return 0;
  // The name, in parentheses, may hold spaces: the fields are counted after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0, reapedUser = 0, reapedSystem = 0] = fields.slice(11, 15).map(Number);
  return count({ user, system, reapedUser, reapedSystem });
}

const nameOf = (pid: string) => readOrEmpty(`/proc/${pid}/comm`).trim();

/** A process may end between being listed and being read. */
function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
