import { spawn } from 'node:child_process';

type RunResult = {
  ok: boolean;
  output: string;
  /** Whether the command does not exist, so it did not run. */
  isMissing: boolean;
};

type RunOptions = {
  cwd?: string;
  env?: Record<string, string | undefined>;
  /** The command is killed after this time and counts as failed, in milliseconds. */
  limitMs?: number;
};

/** The maximum of characters of output that are kept: the last ones, where a failing command gives the reason. */
const outputKeptMax = 20_000;

/** Runs a command to its end, without a shell. A command that does not exist counts as failed. */
export const run = (file: string, args: string[], options: RunOptions = {}): Promise<RunResult> =>
  new Promise((resolve) => {
    const child = spawn(file, args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Without a time limit, Node sends no signal.
      timeout: options.limitMs,
      killSignal: 'SIGKILL',
    });
    let output = '';
    const keep = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-outputKeptMax);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.once('error', (error: NodeJS.ErrnoException) =>
      resolve({ ok: false, output: error.message, isMissing: error.code === 'ENOENT' }),
    );
    child.once('close', (code) => resolve({ ok: code === 0, output, isMissing: false }));
  });

/** Runs a command that has to succeed. Returns its output; rejects with the last 15 lines of it. */
export async function mustRun(file: string, args: string[], options: RunOptions = {}): Promise<string> {
  const { ok, output } = await run(file, args, options);
  if (ok) return output;
  const end = output.trim().split('\n').slice(-15).join('\n');
  throw new Error(`${file} ${args.slice(0, 3).join(' ')} … failed:\n${end}`);
}
