import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { dieWithParent } from '../../infra/dev-servers/die-with-parent.ts';

export type LogLine = Record<string, unknown> & { msg?: string };

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
  /** Reads and drops further stdout: parsing each line would cost this process more than the request behind it. */
  dropOutput: () => void;
  /** Resolves with the exit code, or with the signal that ended the process. */
  exited: Promise<number | string>;
  stop: (signal?: NodeJS.Signals) => Promise<number | string>;
};

export const startService = (
  name: 'api' | 'projector' | 'cli',
  environment: Record<string, string | undefined>,
  args: string[] = [],
): Service => startScript(join('services', name, 'main.ts'), environment, args);

/** Runs a script of the project, named by its path from the root. */
export const startScript = (
  script: string,
  environment: Record<string, string | undefined>,
  args: string[] = [],
): Service =>
  startCommand(
    [process.execPath, '--disable-warning=TimeoutNegativeWarning', script, ...args],
    environment,
    script,
  );

/** Runs a command; `name` stands for it in errors. */
export function startCommand(
  command: string[],
  environment: Record<string, string | undefined>,
  name: string,
): Service {
  const [file = '', ...args] = [...dieWithParent(), ...command];
  const child = spawn(file, args, {
    env: { PATH: process.env.PATH, LOG_LEVEL: 'info', SHUTDOWN_DELAY_SECONDS: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log: LogLine[] = [];
  const output: string[] = [];
  const waiting: { message: string; resolve: (line: LogLine) => void }[] = [];
  const lines = createInterface({ input: child.stdout }).on('line', (text) => {
    output.push(text);
    if (!text.startsWith('{"level"')) return;
    const line = JSON.parse(text) as LogLine;
    log.push(line);
    for (const { message, resolve } of waiting) if (line.msg === message) resolve(line);
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const exited = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  const logged = (message: string) =>
    new Promise<LogLine>((resolve, reject) => {
      const found = log.find((line) => line.msg === message);
      if (found) return resolve(found);
      waiting.push({ message, resolve });
      void exited.then((code) =>
        reject(
          new Error(
            `${name} ended with ${code} before it logged "${message}": ${errors}${JSON.stringify(log.at(-1))}`,
          ),
        ),
      );
    });
  const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    return exited;
  };
  const dropOutput = () => {
    lines.close();
    child.stdout.resume();
  };
  return {
    ...{ child, pid: child.pid ?? 0, log, logged, dropOutput, exited, stop },
    stdout: () => output.join('\n'),
    stderr: () => errors,
  };
}
