import { rm } from 'node:fs/promises';
import { Option } from '@commander-js/extra-typings';
import { wholeNumber } from '../../services/cli/options.ts';
import { errorMessage } from '../../shared/runtime/error-message.ts';
import { createProgram } from '../dev-servers/program.ts';
import { temporaryFolder } from '../dev-servers/temporary-folder.ts';
import { type Size, sizes } from '../sample-data/sample-data.ts';
import { runDemo } from './demo.ts';
import { logsOfCause, removeAllButLogs } from './logs.ts';

/** Signals within this time are one Ctrl-C, because npm repeats the signal that the terminal has already sent. */
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
    'while live changes continue, rebuild the documents as a second generation, compare it, promote it, roll back, ' +
      'promote it again, and drop the first; prints the command of each step',
    false,
  )
  .option('--quiet', 'print only the API key, the commands and errors', false)
  .parse()
  .opts();

const print = (line: string) => void process.stdout.write(`${line}\n`);
const report = options.quiet ? () => undefined : print;
const printToStderr = (line: string) => void process.stderr.write(`${line}\n`);
const printError = (error: unknown) => printToStderr(errorMessage(error));
const { path: folder, cancelRemoval } = await temporaryFolder('support-demo-');
const closers = new AsyncDisposableStack();
const controller = new AbortController();
const stopRequested = Promise.withResolvers<void>();
let firstSignalAt: number | null = null;
const onSignal = () => {
  if (firstSignalAt === null) {
    firstSignalAt = performance.now();
    report('Stopping. Press Ctrl-C again to kill all processes at once.');
    stopRequested.resolve();
    return;
  }
  if (performance.now() - firstSignalAt > sameSignalMs) process.exit(1);
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);

const running = runDemo({ options, print, report, folder, stopping: controller.signal, closers });
let failure: { error: unknown } | undefined;
try {
  await Promise.race([running, stopRequested.promise]);
} catch (error) {
  failure = { error };
  printError(error);
}
// Ignores failures while everything stops.
running.catch(() => undefined);
controller.abort();
await closers.disposeAsync().catch(printError);
if (failure) {
  const logs = await removeAllButLogs(folder);
  printToStderr(`The logs are kept in ${folder}: ${logs.join(', ')}`);
  const causes = logsOfCause(failure.error, logs);
  if (causes.length > 0) printToStderr(`The cause is probably in ${causes.join(' or ')}`);
} else await rm(folder, { recursive: true, maxRetries: 3 });
await cancelRemoval();
process.exit(failure ? 1 : 0);
