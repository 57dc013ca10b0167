import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** A process. Its start time, in kernel ticks, distinguishes it from a later process with the same pid. */
export type ProcessRecord = Pick<Command, 'name' | 'stopSignal' | 'isCrashSafe'> & {
  pid: number;
  startTicks: string;
};

export type Command = {
  name: string;
  argv: string[];
  cwd: string;
  /** Receives standard output and error, appended. */
  logFile: string;
  /** Asks the process for an orderly shutdown. */
  stopSignal: NodeJS.Signals;
  /** False if a SIGKILL may damage its data: it is always stopped instead. */
  isCrashSafe?: false | undefined;
};

/** The time that a process has to stop before it is killed, in milliseconds. */
const stopGraceMs = 8_000;

/** Starts a command as the leader of its own process group, so that a Ctrl-C for a test does not reach it. */
export function launch(command: Command): ProcessRecord {
  const [file = '', ...args] = command.argv;
  const log = openSync(command.logFile, 'a');
  const child = spawn(file, args, { cwd: command.cwd, detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  if (child.pid === undefined) throw new Error(`${file} could not be started: is it installed?`);
  child.on('error', () => undefined);
  child.unref();
  const { name, stopSignal, isCrashSafe } = command;
  return { name, stopSignal, isCrashSafe, pid: child.pid, startTicks: statOf(child.pid)?.startTicks ?? '' };
}

/** A zombie counts as running while it still has threads, which hold its ports and files. */
export function isRunning(record: ProcessRecord): boolean {
  const stat = statOf(record.pid);
  if (stat === undefined || stat.startTicks !== record.startTicks) return false;
  return stat.state !== 'Z' || threadsOf(record.pid) > 1;
}

/** Sends a signal to a process and its direct children, if the process is still running. */
export function signalTree(record: ProcessRecord, signal: NodeJS.Signals): void {
  if (!isRunning(record)) return;
  for (const pid of [record.pid, ...childrenOf(record.pid)]) signalOne(pid, signal);
}

function signalOne(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has just ended.
  }
}

/** Asks a process to stop, and kills it after the grace period. */
export async function stopProcess(record: ProcessRecord): Promise<void> {
  if (!isRunning(record)) return;
  signalTree(record, 'SIGCONT');
  signalOne(record.pid, record.stopSignal);
  if (await untilEnded(record, stopGraceMs)) return;
  signalTree(record, 'SIGKILL');
  await untilEnded(record, stopGraceMs);
}

/** Returns true once the process has ended, false if it is still running after `limitMs`. */
export async function untilEnded(record: ProcessRecord, limitMs: number): Promise<boolean> {
  const deadline = Date.now() + limitMs;
  while (isRunning(record)) {
    if (Date.now() > deadline) return false;
    await delay(20);
  }
  return true;
}

function statOf(pid: number): { state: string; startTicks: string } | undefined {
  const file = `/proc/${pid}/stat`;
  if (!existsSync(file)) return undefined;
  try {
    // The command's name, in parentheses, may contain spaces, so the fields are counted after it.
    const fields = readFileSync(file, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return { state: fields[0] ?? '', startTicks: fields[19] ?? '' };
  } catch {
    return undefined;
  }
}

function threadsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`).length;
  } catch {
    return 0;
  }
}

function childrenOf(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return children.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
