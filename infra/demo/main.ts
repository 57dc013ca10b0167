import { parseArguments, usage } from './arguments.ts';
import { createClosers } from './closers.ts';
import { runDemo } from './demo.ts';
import { createOutput } from './output.ts';
import { createRunFolder, removeRunFolder } from './run-folder.ts';
import { errorMessage } from '../../shared/runtime/error-message.ts';

/** npm repeats a Ctrl-C that the terminal has already sent. Signals within this time count as one. */
const sameSignalMs = 1_000;

const options = parseArguments(process.argv.slice(2));
if ('help' in options) {
  process.stdout.write(usage);
  process.exit(0);
}
if ('usageError' in options) {
  process.stderr.write(`${options.usageError}\n\n${usage}`);
  process.exit(2);
}

const output = createOutput(process.stdout, options.quiet);
const printError = (line: string) => void process.stderr.write(`${line}\n`);
const folder = await createRunFolder();
const closers = createClosers();
const killables: { kill: () => void }[] = [];
const controller = new AbortController();
const stopRequested = new Promise<void>((resolve) => {
  let firstAt: number | null = null;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (firstAt !== null && performance.now() - firstAt > sameSignalMs) killAtOnce();
      if (firstAt !== null) return;
      firstAt = performance.now();
      output.say('Stopping. Press Ctrl-C again to kill all processes at once.');
      controller.abort();
      resolve();
    });
  }
});

let failed = false;
const onStarted = (killable: { kill: () => void }) => void killables.push(killable);
const running = runDemo({ options, output, folder, closers, stopping: controller.signal, onStarted });
try {
  await Promise.race([running, stopRequested]);
} catch (error) {
  failed = true;
  printError(errorMessage(error));
}
// Ignores failures while everything stops.
running.catch(() => undefined);
controller.abort();
await closers.closeAll(printError);
await removeRunFolder(folder, { keepLogs: failed });
if (failed) printError(`The logs are kept in ${folder.path}`);
process.exit(failed ? 1 : 0);

function killAtOnce(): never {
  for (const { kill } of killables) {
    try {
      kill();
    } catch {
      // The process has just ended.
    }
  }
  process.exit(1);
}
