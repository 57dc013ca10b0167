import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { dieWithParent } from './dev-servers/parent-death.ts';

type LogLine = Record<string, unknown> & { msg?: string };

/** A process of the project, with the lines that it has logged. */
export type Service = {
  child: ChildProcess;
  pid: number;
  log: LogLine[];
  /** Everything written to stdout, log lines included. */
  stdout: () => string;
  stderr: () => string;
  /** Resolves with the first log line that has this message; rejects when the process ends first. */
  logged: (message: string) => Promise<LogLine>;
  /** Drops further stdout, because this process would need more time to parse a line than the API for its request. */
  dropOutput: () => void;
  /** Returns no error while the process runs; after its end, one error with its last log lines. */
  failures: () => Error[];
  /** Resolves with the exit code, or with the signal that ended the process. */
  exited: Promise<number | string>;
  /** Sends a signal, SIGTERM by default, and SIGKILL if the process has not ended after `graceMs`. */
  stop: (signal?: NodeJS.Signals, graceMs?: number) => Promise<number | string>;
};

type Environment = Record<string, string | undefined>;

type ServiceOptions = {
  /** Receives each line of stdout and stderr. */
  onLine?: (line: string) => void;
  /** The maximum of lines of stdout, and of the log, that are kept: the last ones. By default all lines are kept. */
  linesMax?: number;
  /** Runs the process in a process group of its own. A Ctrl-C then reaches only the process that started it. */
  ownGroup?: boolean;
};

/** Starts a service with the options of Node that it has in production. */
export const startService = (
  name: 'api' | 'projector' | 'cli' | 'console',
  environment: Environment,
  args: string[] = [],
  options: ServiceOptions = {},
): Service =>
  startScript(
    join('services', name, 'main.ts'),
    { ...(name === 'api' && apiHeap), ...mallocSettings, ...environment },
    args,
    options,
  );

/** The heap of the API, as in the image and in `npm run api`. */
const apiHeap = { NODE_OPTIONS: '--max-semi-space-size=16' };

/** Lets glibc immediately give freed memory back to the system, as in the image and in `npm run`. */
export const mallocSettings = { MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_ARENA_MAX: '2' };

/** Runs a script of the project, named by its path from the root. */
export const startScript = (
  script: string,
  environment: Environment,
  args: string[] = [],
  options: ServiceOptions = {},
): Service =>
  startCommand(
    // kafkajs sets negative timeouts, and Node would print a warning.
    [process.execPath, '--disable-warning=TimeoutNegativeWarning', script, ...args],
    environment,
    script,
    options,
  );

/** The variables that a process inherits from this one. Settings of services are not among them. */
const inheritedVariables = () => {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  return { PATH, NODE_COMPILE_CACHE };
};

function spawnChild(command: string[], environment: Environment, ownGroup: boolean) {
  const [file = '', ...args] = dieWithParent().concat(command);
  return spawn(file, args, {
    env: { ...inheritedVariables(), LOG_LEVEL: 'info', SHUTDOWN_DELAY_SECONDS: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: ownGroup,
  });
}

/** Runs a command. Errors call it `name`. */
export function startCommand(
  command: string[],
  environment: Environment,
  name: string,
  { onLine, linesMax = Infinity, ownGroup = false }: ServiceOptions = {},
): Service {
  const child = spawnChild(command, environment, ownGroup);
  const log: LogLine[] = [];
  const output: string[] = [];
  const waiting: { message: string; resolve: (line: LogLine) => void }[] = [];
  const lines = createInterface({ input: child.stdout }).on('line', (text) => {
    onLine?.(text);
    if (output.push(text) > linesMax) output.shift();
    // Other output is no log line, and the last line of a killed process may be incomplete.
    if (!text.startsWith('{"level"') || !text.endsWith('}')) return;
    const line = JSON.parse(text) as LogLine;
    if (log.push(line) > linesMax) log.shift();
    for (const { message, resolve } of waiting) {
      if (line.msg === message) resolve(line);
    }
  });
  const errors = collectErrors(child, onLine);
  const exited = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  const logged = (message: string) =>
    new Promise<LogLine>((resolve, reject) => {
      const logLine = log.find((line) => line.msg === message);
      if (logLine) {
        resolve(logLine);
        return;
      }
      waiting.push({ message, resolve });
      void exited.then((code) => {
        const lastOutput = `${errors()}${JSON.stringify(log.at(-1))}`;
        reject(new Error(`${name} ended with ${code} before it logged "${message}": ${lastOutput}`));
      });
    });
  return {
    child,
    pid: child.pid ?? 0,
    log,
    logged,
    exited,
    failures: () => failuresOf(name, child, log, errors()),
    dropOutput: () => {
      lines.close();
      child.stdout.resume();
    },
    stop: (signal: NodeJS.Signals = 'SIGTERM', graceMs?: number) => {
      child.kill(signal);
      if (graceMs) setTimeout(() => child.kill('SIGKILL'), graceMs).unref();
      return exited;
    },
    stdout: () => output.join('\n'),
    stderr: errors,
  };
}

/** Returns a function that gives the error output so far, and why the command could not start. */
function collectErrors(
  child: ChildProcessByStdio<null, Readable, Readable>,
  onLine: ServiceOptions['onLine'],
): () => string {
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  child.once('error', (error) => {
    errors += error.message;
  });
  if (onLine) createInterface({ input: child.stderr }).on('line', onLine);
  return () => errors;
}

function failuresOf(name: string, { exitCode, signalCode }: ChildProcess, log: LogLine[], errors: string) {
  const code = exitCode ?? signalCode;
  if (code === null) return [];
  const fatalBefore = log.slice(0, -8).filter(({ level }) => level === 'fatal');
  const lines = [...fatalBefore, ...log.slice(-8)].map((line) => JSON.stringify(line));
  return [new Error([`${name} ended with ${code}`, ...lines, errors].join('\n'))];
}
