#!/usr/bin/env -S node --disable-warning=TimeoutNegativeWarning
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import type { Terminal } from './context.ts';
import { progressLine } from './output.ts';

async function confirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl-C and Ctrl-D reject the question. Both count as no.
  const answer = await terminal.question(question).catch(() => '');
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}

const terminal: Terminal = {
  print: (text) =>
    new Promise((resolve, reject) => {
      process.stdout.write(text, (error) => {
        if (error) reject(error);
        else resolve();
      });
    }),
  report: (line) => process.stderr.write(`${line}\n`),
  progress: (done, total) => {
    if (process.stderr.isTTY) process.stderr.write(progressLine(done, total));
  },
  confirm: process.stdin.isTTY ? confirm : null,
};

// The cache speeds up the next start, as in infra/run.sh. It contains the modules that are imported below.
enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/node'));
const { runCommandLine } = await import('./run.ts');
// Without a listener, a stream error would end the process. `print` rejects if stdout fails, and a command that cannot
// write to stderr continues.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
// In a container, the CLI runs as PID 1, and the kernel drops signals for which PID 1 has no handler.
if (process.pid === 1) {
  process.once('SIGTERM', () => process.exit(143));
  process.once('SIGINT', () => process.exit(130));
}
// kafkajs can keep a socket for minutes after `disconnect`.
process.exit(await runCommandLine(process.argv.slice(2), process.env, terminal));
