#!/usr/bin/env -S node --disable-warning=TimeoutNegativeWarning
import { createInterface } from 'node:readline/promises';
import { configOrExit, readConfig } from '../../shared/runtime/config.ts';
import { errorMessage } from '../../shared/runtime/error-message.ts';
import { commandsIn } from '../operations/deployment.ts';
import { deploymentSetting } from '../operations/settings.ts';
import { parseArguments, type ParsedCommand } from './command.ts';
import { UsageError, type Terminal } from './context.ts';

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
    if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${total}${done >= total ? '\n' : ''}`);
  },
  confirm: process.stdin.isTTY ? confirm : null,
};

async function runVerb({ verb, run }: ParsedCommand): Promise<void> {
  try {
    const output = await run({ verb, environment: process.env, terminal });
    const { text, exitCode } = typeof output === 'string' ? { text: output, exitCode: 0 } : output;
    process.stdout.write(text);
    process.exitCode = exitCode;
  } catch (error) {
    terminal.report(`${verb} failed: ${errorMessage(error)}`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}

const { DEPLOYMENT } = configOrExit(readConfig(deploymentSetting, process.env));
const parsed = parseArguments(process.argv.slice(2), commandsIn[DEPLOYMENT].cli);
if ('help' in parsed) process.stdout.write(parsed.help);
else if ('command' in parsed) await runVerb(parsed.command);
else {
  process.stderr.write(parsed.usageError);
  process.exitCode = 2;
}
