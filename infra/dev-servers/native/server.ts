import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { dieWithParent } from '../parent-death.ts';

export type Command = {
  name: string;
  argv: string[];
  cwd: string;
  /** Receives standard output and error, appended. */
  logFile: string;
  /** Asks the process for an orderly shutdown. */
  stopSignal: NodeJS.Signals;
  /** A SIGKILL may damage its data: `kill` sends `stopSignal` first, and SIGKILL only to a server that does not end. */
  mustEndOrderly?: boolean;
};

/** One process of a server: its command, and the check whether it serves. */
export type ServerProcess = { command: Command; ready: (pid: number) => Promise<boolean> };

/** A server of one process, or of several where each needs the previous one. */
export type Server = {
  stop(): Promise<void>;
  /** Kills all its processes, the last one first. Resolves when they have ended. */
  kill(): Promise<void>;
  /** Suspends its processes: their connections stay open, and nothing answers on them. */
  pause(): void;
  resume(): void;
  /** Kills the running processes and starts again on the same data and ports. */
  restart(): Promise<void>;
};

/** The time that a process has to stop before it is killed, in milliseconds. */
const stopGraceMs = 8_000;

/**
 * The maximum time until a process serves, in milliseconds. Then the start fails, with the end of the log. Kafka starts
 * in 4 s, but needs more than a minute on a machine with ten busy processes for each core.
 */
const readyLimitMs = 180_000;

/** Starts the processes in order. Waits until each one serves before it starts the next. */
export async function startServer(processes: ServerProcess[]): Promise<Server> {
  const running: { child: ChildProcess; command: Command }[] = [];
  const end = async (isOrderly: boolean) => {
    for (const { child, command } of running.splice(0).reverse()) {
      const { stopSignal, mustEndOrderly = false } = command;
      await endProcess(child, isOrderly || mustEndOrderly ? stopSignal : 'SIGKILL');
    }
  };
  const signal = (name: NodeJS.Signals) => {
    for (const { child } of running) child.kill(name);
  };
  const start = async () => {
    for (const serverProcess of processes) {
      const child = launch(serverProcess.command);
      running.push({ child, command: serverProcess.command });
      await untilReady(serverProcess, child);
    }
  };
  try {
    await start();
  } catch (error) {
    await end(true);
    throw error;
  }
  return {
    stop: () => end(true),
    kill: () => end(false),
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    restart: async () => {
      await end(false);
      await start();
    },
  };
}

/**
 * Starts a command as the leader of its own process group, because a Ctrl-C for a test must not reach it. The command
 * dies with this process, and does not keep this process alive.
 */
function launch({ argv, cwd, logFile }: Command): ChildProcess {
  const [file = '', ...args] = dieWithParent().concat(argv);
  const log = openSync(logFile, 'a');
  const child = spawn(file, args, { cwd, detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  // `untilReady` reports the failure, with the end of the log.
  child.on('error', () => undefined);
  child.unref();
  return child;
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null;

/** Sends a signal, and SIGKILL after the grace period. Resolves when the process has ended. */
async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  child.ref();
  const exit = once(child, 'exit');
  child.kill(signal);
  const killing = setTimeout(() => child.kill('SIGKILL'), stopGraceMs);
  await exit;
  clearTimeout(killing);
}

async function untilReady({ command, ready }: ServerProcess, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + readyLimitMs;
  const failed = (failure: string) =>
    new Error(`${command.name} ${failure}; its log ends with:\n${tail(command.logFile)}`);
  while (!(await ready(child.pid ?? 0))) {
    if (hasEnded(child)) throw failed('exited during its start');
    if (Date.now() > deadline) throw failed(`did not become ready within ${readyLimitMs / 1_000} s`);
    await sleep(40);
  }
}

function tail(file: string): string {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.slice(-12).join('\n');
}
