import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { isRunning, launch, signalTree, stopProcess, untilEnded } from './processes.ts';
import type { Command, ProcessRecord } from './processes.ts';

/** One process of a server: its command, and the check whether it serves. */
export type Part = { command: Command; ready: (pid: number) => Promise<boolean> };

/** A server of one process, or of several where each needs the previous one. */
export type Server = {
  processes(): ProcessRecord[];
  stop(): Promise<void>;
  /** Sends a signal to all its processes, the last one first. After SIGKILL, waits until they have ended. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Kills the running processes and starts again on the same data and ports. */
  restart(): Promise<void>;
};

/**
 * The maximum time until a process serves, in milliseconds. After it, the start fails with the end of the log. Kafka,
 * which starts in 4 s, needs more than a minute on a machine with ten busy processes a core.
 */
const readyLimitMs = 180_000;

/** Starts the parts in order. Waits until each one serves before it starts the next. */
export async function startServer(parts: Part[]): Promise<Server> {
  let running: ProcessRecord[] = [];
  const stop = async () => {
    for (const record of [...running].reverse()) await stopProcess(record);
    running = [];
  };
  const kill = async (signal: NodeJS.Signals) => {
    for (const record of [...running].reverse()) {
      if (signal === 'SIGKILL' && record.isCrashSafe === false) await stopProcess(record);
      else signalTree(record, signal);
      if (signal === 'SIGKILL') await untilEnded(record, readyLimitMs);
    }
  };
  const start = async () => {
    for (const part of parts) {
      const record = launch(part.command);
      running.push(record);
      await untilReady(part, record);
    }
  };
  const restart = async () => {
    await kill('SIGKILL');
    running = [];
    await start();
  };
  try {
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  return { processes: () => running, stop, kill, restart };
}

async function untilReady(part: Part, record: ProcessRecord): Promise<void> {
  const deadline = Date.now() + readyLimitMs;
  while (!(await part.ready(record.pid))) {
    const late = Date.now() > deadline ? `did not become ready within ${readyLimitMs / 1_000} s` : '';
    const failure = isRunning(record) ? late : 'exited during its start';
    if (failure)
      throw new Error(`${part.command.name} ${failure}; its log ends with:\n${tail(part.command.logFile)}`);
    await delay(40);
  }
}

function tail(file: string): string {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.slice(-12).join('\n');
}
