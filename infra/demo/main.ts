import { parseArguments, usage } from './arguments.ts';
import { createClosers } from './closers.ts';
import { runDemo } from './demo.ts';
import { createOutput } from './output.ts';
import { createRunFolder, removeRunFolder } from './run-folder.ts';

/** Package runners pass a Ctrl-C on that the terminal has sent already: within this time both are one. */
const sameSignalMs = 1_000;

const options = parseArguments(process.argv.slice(2));
if ('help' in options) {
  process.stdout.write(usage);
  process.exit(0);
}
if ('fault' in options) {
  process.stderr.write(`${options.fault}\n\n${usage}`);
  process.exit(2);
}

const output = createOutput(process.stdout, options.quiet);
const complain = (line: string) => void process.stderr.write(`${line}\n`);
const folder = await createRunFolder();
const closers = createClosers();
const killables: { kill: () => void }[] = [];
const controller = new AbortController();
const told = new Promise<void>((resolve) => {
  let firstAt: number | null = null;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (firstAt !== null && performance.now() - firstAt > sameSignalMs) killAtOnce();
      if (firstAt !== null) return;
      firstAt = performance.now();
      output.say('Stopping; once more kills at once.');
      controller.abort();
      resolve();
    });
  }
});

let failed = false;
const onStarted = (killable: { kill: () => void }) => void killables.push(killable);
const running = runDemo({ options, output, folder, closers, stopping: controller.signal, onStarted });
try {
  await Promise.race([running, told]);
} catch (error) {
  failed = true;
  complain(error instanceof Error ? error.message : String(error));
}
// What fails while everything is being stopped is no news.
running.catch(() => undefined);
controller.abort();
await closers.closeAll(complain);
await removeRunFolder(folder, { keepLogs: failed });
if (failed) complain(`The logs are kept in ${folder.path}`);
process.exit(failed ? 1 : 0);

function killAtOnce(): never {
  for (const { kill } of killables) {
    try {
      kill();
    } catch {
      // It ended in between.
    }
  }
  process.exit(1);
}
