import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import type { Stack } from '../infra/dev-servers/provider.ts';
import { startStack } from '../infra/dev-servers/stack.ts';
import { temporaryFolder } from '../infra/dev-servers/temporary-folder.ts';
import { dieWithParent } from '../infra/dev-servers/parent-death.ts';
import { errorMessage } from '../shared/runtime/error-message.ts';

/**
 * `npm test`: types, lint and format; the unit tests; then the tests that need servers, on a Kafka and a store of this
 * run's own. `npm run test:long`: randomized tests at full size, a browser, limits of memory and
 * connections, and faults of real servers.
 * Arguments after `--` go to jest, which then runs without the checks: `npm test -- tests/convergence`.
 */
const isLong = process.argv[2] === '--long';
const jestArguments = process.argv.slice(isLong ? 3 : 2);
const print = (line: string) => process.stdout.write(`${line}\n`);

const longOnly = ['\\.long\\.test\\.ts$', '/tests/faults/'];
const sized = ['/tests/simulation/simulation\\.test', '/tests/convergence/'];
const jest = 'node_modules/.bin/jest';
const unitRoots = ['clients', 'services', 'shared', 'infra'];
const rootsOf = (folders: string[]) => folders.flatMap((folder) => ['--roots', folder]);

let stack: Stack | undefined;
let running: ReturnType<typeof spawn> | undefined;
let interrupted = false;

const run = (
  command: string,
  args: string[],
  environment: NodeJS.ProcessEnv = process.env,
): Promise<number> =>
  new Promise((resolve, reject) => {
    const [file = '', ...rest] = [...dieWithParent(), command, ...args];
    running = spawn(file, rest, { stdio: 'inherit', env: environment });
    running.once('error', reject);
    running.once('exit', (code) => resolve(code ?? 1));
  });

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interrupted = true;
    running?.kill(signal);
  });
}

/** Runs one after the other until one fails; returns the exit code of the last. */
async function inTurn(runs: (() => Promise<number>)[]): Promise<number> {
  for (const each of runs) {
    const code = await each();
    if (code !== 0 || interrupted) return interrupted ? 130 : code;
  }
  return 0;
}

async function onServers(...args: string[]): Promise<number> {
  const { path: dataDir, release } = await temporaryFolder('support-read-models-test-');
  try {
    stack = await startStack({ report: print, dataDir });
    if (interrupted) return 130;
    const { kafkaBrokers: KAFKA_BROKERS, mongodbUrl: MONGODB_URL } = stack;
    // kafkajs sets timers in the past, of which Node 24 warns in every process.
    const NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --disable-warning=TimeoutNegativeWarning`;
    const environment = { ...process.env, KAFKA_BROKERS, MONGODB_URL, NODE_OPTIONS };
    return await run(jest, args, isLong ? { ...environment, TEST_LONG: '1' } : environment);
  } finally {
    await stack?.stop();
    await rm(dataDir, { recursive: true, force: true });
    await release();
  }
}

function main(): Promise<number> {
  if (jestArguments.length > 0) return onServers('--runInBand', ...jestArguments);
  if (isLong) return onServers('--runInBand', ...sized, ...longOnly);
  return inTurn([
    () => run('npm', ['run', 'check']),
    () => run(jest, rootsOf(unitRoots)),
    () => onServers('--maxWorkers', '2', ...rootsOf(['tests']), '--testPathIgnorePatterns', ...longOnly),
  ]);
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${errorMessage(error)}\n`);
  process.exitCode = 1;
}
