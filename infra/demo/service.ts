import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { dieWithParent } from '../dev-servers/die-with-parent.ts';

/** A service of this project that runs as a child process of the demo and logs to a file. */
export type Service = {
  name: string;
  logFile: string;
  /** Resolves when the process ends, with `exit code 1` or `SIGKILL`, for example. */
  ended: Promise<string>;
  stop: () => Promise<void>;
  kill: () => void;
};

/** The time that a service has to stop before it is killed, in milliseconds. */
const stopGraceMs = 15_000;

/** kafkajs sets negative timeouts. Node would print a warning about that in the log. */
const nodeOptions = ['--disable-warning=TimeoutNegativeWarning'];

/**
 * Runs a script on this Node in its own process group, so that a Ctrl-C reaches only the demo, which then stops its
 * services in order.
 */
export function startService(
  name: string,
  script: string,
  { environment, logFile }: { environment: Record<string, string>; logFile: string },
): Service {
  const log = openSync(logFile, 'a');
  const [file = process.execPath, ...args] = [...dieWithParent(), process.execPath, ...nodeOptions, script];
  const child = spawn(file, args, { env: environment, detached: true, stdio: ['ignore', log, log] });
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

/** Waits for the first entry with this message in a service's JSON log. */
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
