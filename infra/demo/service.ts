import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { tiedToParent } from '../dev-servers/tied-to-parent.ts';

/** A service of this project that runs as a child of the demo, its output in a file. */
export type Service = {
  name: string;
  logFile: string;
  /** What it ended with, `exit code 1` or `SIGKILL`; pending while it runs. */
  ended: Promise<string>;
  stop: () => Promise<void>;
  kill: () => void;
};

/** How long a service may take to stop by itself before it is killed, in milliseconds. */
const stopGraceMs = 15_000;

/** kafkajs asks for negative timeouts, which Node would warn of in the log. */
const nodeOptions = ['--disable-warning=TimeoutNegativeWarning'];

/**
 * Runs a script on this Node. It leads a process group of its own, so that a Ctrl-C reaches the demo alone,
 * which then stops its services in their order.
 */
export function startService(
  name: string,
  script: string,
  { environment, logFile }: { environment: Record<string, string>; logFile: string },
): Service {
  const log = openSync(logFile, 'a');
  const [file = process.execPath, ...words] = [...tiedToParent(), process.execPath, ...nodeOptions, script];
  const child = spawn(file, words, { env: environment, detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  const ended = Promise.race([
    once(child, 'exit').then(([code, signal]) =>
      typeof code === 'number' ? `exit code ${code}` : String(signal),
    ),
    once(child, 'error').then(([error]) => String(error)),
  ]);
  const stop = async () => {
    child.kill('SIGTERM');
    const late = delay(stopGraceMs, 'late', { ref: false });
    if ((await Promise.race([ended, late])) === 'late') child.kill('SIGKILL');
    await ended;
  };
  return { name, logFile, ended, stop, kill: () => void child.kill('SIGKILL') };
}

type LogEntry = Record<string, unknown>;

/** The first entry of a service's JSON log with that message; waits until it is there. */
export async function logged(service: Service, message: string): Promise<LogEntry> {
  for (;;) {
    for (const line of tailOf(service.logFile, Infinity)) {
      const entry = entryOf(line);
      if (entry?.msg === message) return entry;
    }
    await delay(50);
  }
}

function entryOf(line: string): LogEntry | null {
  try {
    return JSON.parse(line) as LogEntry;
  } catch {
    return null;
  }
}

/** The last lines of a log. */
export const tailOf = (logFile: string, lines: number): string[] =>
  readFileSync(logFile, 'utf8').split('\n').filter(Boolean).slice(-lines);
