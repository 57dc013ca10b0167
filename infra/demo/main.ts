import { Option } from '@commander-js/extra-typings';
import { errorMessage } from '../../shared/runtime/error-message.ts';
import { wholeNumber } from '../../services/cli/options.ts';
import { createProgram } from '../program.ts';
import { sizes, type Size } from '../sample-data/sample-data.ts';
import { runDemo } from './demo.ts';
import { createOutput } from './output.ts';
import { createRunFolder, removeRunFolder } from './run-folder.ts';

/** npm repeats a Ctrl-C that the terminal has already sent. Signals within this time count as one. */
const sameSignalMs = 1_000;

const options = createProgram('npm start --')
  .description(
    'Starts Kafka and MongoDB (or a server that speaks its protocol), publishes generated support data to Kafka, ' +
      'projects it into documents, serves them over HTTPS, and publishes live changes until Ctrl-C.',
  )
  .addOption(
    new Option('--size <size>', 'about 200, 2,000 or 20,000 tickets')
      .choices(Object.keys(sizes) as Size[])
      .default('medium' as const),
  )
  .option('--seed <n>', 'a whole number; another seed generates other data', wholeNumber(999_999_999, 0), 1)
  .option(
    '--rebuild',
    'while live changes go on, build the documents again beside the served ones, compare them, switch to them, ' +
      'back and forth, and drop the old ones; each step by its command',
    false,
  )
  .option('--quiet', 'print the API key, the commands and errors only', false)
  .parse()
  .opts();

const output = createOutput(process.stdout, options.quiet);
const printError = (line: string) => void process.stderr.write(`${line}\n`);
const folder = await createRunFolder();
const closers = new AsyncDisposableStack();
const kills: (() => void)[] = [];
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

/** A closer that fails is reported, and the others run. */
const onEnd = (name: string, close: () => Promise<unknown>) => {
  const closeAndReport = async () => {
    try {
      await close();
    } catch (error) {
      printError(`${name} could not be stopped: ${errorMessage(error)}`);
    }
  };
  // A process may still start while the others stop.
  if (closers.disposed) void closeAndReport();
  else closers.defer(closeAndReport);
};
const onKill = (kill: () => void) => void kills.push(kill);
const running = runDemo({ options, output, folder, stopping: controller.signal, onEnd, onKill });
let failed = false;
try {
  await Promise.race([running, stopRequested]);
} catch (error) {
  failed = true;
  printError(errorMessage(error));
}
// Ignores failures while everything stops.
running.catch(() => undefined);
controller.abort();
await closers.disposeAsync();
await removeRunFolder(folder, { keepLogs: failed });
if (failed) printError(`The logs are kept in ${folder.path}`);
process.exit(failed ? 1 : 0);

function killAtOnce(): never {
  for (const kill of kills) {
    try {
      kill();
    } catch {
      // The process has just ended.
    }
  }
  process.exit(1);
}
