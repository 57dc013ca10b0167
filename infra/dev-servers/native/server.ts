import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { isRunning, launch, signalTree, stopProcess, untilGone } from './processes.ts';
import type { Command, ProcessRecord } from './processes.ts';

/** One process of a server: how it is launched, and when it serves. */
export type Part = {
  command: Command;
  ready: (pid: number) => Promise<boolean>;
};

/** A server of one process or of several that stand on one another. */
export type Server = {
  processes(): ProcessRecord[];
  stop(): Promise<void>;
  /** Sends any signal to all of its processes; after SIGKILL it waits until they are gone. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Kills what still runs and starts again on the same data and ports. */
  restart(): Promise<void>;
};

/** How long a process may take until it serves, in milliseconds; then starting fails with its log's end. */
const readyLimitMs = 60_000;

/** Starts the parts in order; each waits until it serves before the next one starts. */
export async function startServer(parts: Part[]): Promise<Server> {
  let running: ProcessRecord[] = [];
  const stop = async () => {
    for (const record of [...running].reverse()) await stopProcess(record);
    running = [];
  };
  const kill = async (signal: NodeJS.Signals) => {
    for (const record of running) signalTree(record, signal);
    if (signal === 'SIGKILL') for (const record of running) await untilGone(record, readyLimitMs);
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
    const fault = !isRunning(record) ? 'ended at once' : Date.now() > deadline ? 'did not get ready' : '';
    if (fault)
      throw new Error(`${part.command.name} ${fault}; its log ends with:\n${tail(part.command.logFile)}`);
    await delay(40);
  }
}

function tail(file: string): string {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.slice(-12).join('\n');
}
