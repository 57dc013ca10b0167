import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { tiedToParent } from '../../infra/dev-servers/tied-to-parent.ts';

/** A service of the project as a process of its own, with what it has logged. */
export type Service = {
  child: ChildProcess;
  log: Record<string, unknown>[];
  /** All that it wrote to stdout, log lines included. */
  stdout: () => string;
  stderr: () => string;
  /** Resolves with the first log line that carries this message; rejects when the process ends before. */
  logged: (message: string) => Promise<Record<string, unknown>>;
  /** Resolves with the exit code, or with the signal that ended it. */
  exited: Promise<number | string>;
  stop: (signal?: NodeJS.Signals) => Promise<number | string>;
};

export const startService = (
  name: 'api' | 'projector' | 'cli',
  environment: Record<string, string | undefined>,
  words: string[] = [],
): Service => startScript(join('services', name, 'main.ts'), environment, words);

/** The same for any script of the project, by its path from the root. */
export function startScript(
  script: string,
  environment: Record<string, string | undefined>,
  words: string[] = [],
): Service {
  const node = ['--disable-warning=TimeoutNegativeWarning', script, ...words];
  const [file = '', ...args] = [...tiedToParent(), process.execPath, ...node];
  const child = spawn(file, args, {
    env: { PATH: process.env.PATH, LOG_LEVEL: 'info', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log: Record<string, unknown>[] = [];
  const output: string[] = [];
  const waiting: { message: string; resolve: (line: Record<string, unknown>) => void }[] = [];
  createInterface({ input: child.stdout }).on('line', (text) => {
    output.push(text);
    if (!text.startsWith('{"level"')) return;
    const line = JSON.parse(text) as Record<string, unknown>;
    log.push(line);
    for (const { message, resolve } of waiting) if (line.msg === message) resolve(line);
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const exited = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  const logged = (message: string) =>
    new Promise<Record<string, unknown>>((resolve, reject) => {
      const found = log.find((line) => line.msg === message);
      if (found) return resolve(found);
      waiting.push({ message, resolve });
      void exited.then((code) =>
        reject(
          new Error(
            `${script} ended with ${code} before it logged "${message}": ${errors}${JSON.stringify(log.at(-1))}`,
          ),
        ),
      );
    });
  const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    return exited;
  };
  return { child, log, stdout: () => output.join('\n'), stderr: () => errors, logged, exited, stop };
}
