import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { dieWithParent } from '../dev-servers/die-with-parent.ts';

/** A script of this project that runs as a child process of the demo. */
export type Script = {
  /** Resolves when the process ends, with `exit code 1` or `SIGKILL`, for example. */
  ended: Promise<string>;
  stop: () => Promise<void>;
  kill: () => void;
};

/** A service of this project that logs to a file. */
export type Service = Script & { name: string; logFile: string };

/** The time that a service has to stop before it is killed, in milliseconds. */
const stopGraceMs = 15_000;

/** kafkajs sets negative timeouts. Node would print a warning about that in the log. */
const nodeOptions = ['--disable-warning=TimeoutNegativeWarning'];

export function startService(
  name: string,
  script: string,
  { environment, logFile }: { environment: Record<string, string>; logFile: string },
): Service {
  const log = openSync(logFile, 'a');
  const { started } = startScript([script], environment, ['ignore', log, log]);
  closeSync(log);
  return { name, logFile, ...started };
}

/**
 * Runs a script with its arguments on this Node in its own process group, so that a Ctrl-C reaches only the demo, which
 * then stops its processes in order.
 */
export function startScript(
  script: string[],
  environment: Record<string, string>,
  stdio: StdioOptions,
): { child: ChildProcess; started: Script } {
  const [file = process.execPath, ...args] = [
    ...dieWithParent(),
    process.execPath,
    ...nodeOptions,
    ...script,
  ];
  const child = spawn(file, args, { env: environment, detached: true, stdio });
  const ended = Promise.race([
    once(child, 'close').then(([code, signal]) =>
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
  return { child, started: { ended, stop, kill: () => void child.kill('SIGKILL') } };
}

type LogEntry = Record<string, unknown>;

/** Waits for the first entry with this message in a service's JSON log. */
export async function logged(service: Service, message: string): Promise<LogEntry> {
  for (;;) {
    const [first] = entriesOf(service, message);
    if (first) return first;
    await delay(50);
  }
}

/** The last entry with this message in a service's JSON log, if there is one yet. */
export const lastLogged = (service: Service, message: string): LogEntry | undefined =>
  entriesOf(service, message).at(-1);

const entriesOf = ({ logFile }: Service, message: string): LogEntry[] =>
  tailOf(logFile, Infinity)
    .map(entryOf)
    .filter((entry) => entry?.msg === message)
    .filter((entry) => entry !== null);

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
