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
  print: (text) => process.stdout.write(text),
  report: (line) => process.stderr.write(`${line}\n`),
  progress: (done, total) => {
    if (process.stderr.isTTY) process.stderr.write(progressLine(done, total));
  },
  confirm: process.stdin.isTTY ? confirm : null,
};

// As in infra/run.sh. Has no effect where the folder is read-only, and holds for the modules that are loaded after it.
enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/node'));
const { runCommandLine } = await import('./run.ts');
// The reader has closed the pipe, as `head` does.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => process.exit(0));
const exitCode = await runCommandLine(process.argv.slice(2), process.env, terminal);
// kafkajs can keep a socket for minutes after `disconnect`. The callback waits for all output before it.
process.stdout.write('', () => process.exit(exitCode));
