import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { dieWithParent } from '../infra/dev-servers/parent-death.ts';
import type { Stack } from '../infra/dev-servers/provider.ts';
import { startStack } from '../infra/dev-servers/stack.ts';
import { temporaryFolder } from '../infra/dev-servers/temporary-folder.ts';
import { errorMessage } from '../shared/runtime/error-message.ts';

/**
 * `npm test`: `npm run check` beside all tests but the long ones, on a Kafka and a store of this run's own.
 * `npm run test:long`: randomized tests at full size, a browser, limits of memory and connections, and faults of
 * servers. Arguments after `--` go to jest, which then runs without the checks: `npm test -- tests/convergence`.
 * `TEST_SEED` repeats the order of the files.
 */
const isLong = process.argv[2] === '--long';
const jestArguments = process.argv.slice(isLong ? 3 : 2);
const seed = process.env.TEST_SEED ?? `${Math.floor(Math.random() * 1_000_000)}`;
const print = (line: string) => process.stdout.write(`${line}\n`);

const longOnly = ['\\.long\\.test\\.ts$', '/tests/faults/'];
const sized = ['/tests/simulation/simulation\\.test', '/tests/convergence/'];
/** These measure memory and time, or stop servers: nothing runs beside them. */
const measuring = ['/tests/(api|bench)/.*\\.long\\.test\\.ts$', '/tests/faults/'];

/**
 * The driver imports `os` when it first connects, and jest refuses an import without these modules. The driver would
 * then send no metadata, and MongoDB refuses such a client. The workers of jest inherit the options.
 */
const nodeOptions = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];

/** Jest ends within seconds of its last test, unless a test has left something open. */
const endLimitMs = 180_000;

/** The counts in the last line of a run. A failed check counts as one failure. */
type Counts = { passed: number; failed: number; skipped: string[] };

const children = new Set<ChildProcess>();
let interrupted = false;
const endAll = (signal: NodeJS.Signals) => children.forEach((child) => endGroup(child, signal));

/** Signals a child and the processes that it has started: a worker of jest outlives jest while a test runs in it. */
function endGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // All processes of the group have ended.
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interrupted = true;
    endAll(signal);
  });
}

function start(command: string[], options: SpawnOptions): { child: ChildProcess; code: Promise<number> } {
  const [file = '', ...args] = [...dieWithParent(), ...command];
  const child = spawn(file, args, { ...options, detached: true });
  children.add(child);
  const code = once(child, 'close').then(([exitCode]) => {
    children.delete(child);
    endGroup(child, 'SIGKILL');
    return typeof exitCode === 'number' ? exitCode : 1;
  });
  return { child, code };
}

async function jest(args: string[], environment: NodeJS.ProcessEnv): Promise<Counts> {
  if (interrupted) return { passed: 0, failed: 0, skipped: [] };
  const { child, code } = start(
    [process.execPath, ...nodeOptions, 'node_modules/.bin/jest', `--seed=${seed}`, ...args],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], env: environment },
  );
  // tests/reporter.mjs sends the counts after the last test. The channel closes after its last message.
  let { passed, failed, skipped }: Counts = { passed: 0, failed: 0, skipped: [] };
  let ending: NodeJS.Timeout | undefined;
  child.on('message', (counts: Counts) => {
    ({ passed, failed, skipped } = counts);
    ending = setTimeout(() => {
      print(`Jest was killed ${endLimitMs / 1_000} s after its last test: a test has left something open`);
      endGroup(child, 'SIGKILL');
    }, endLimitMs);
  });
  const [exitCode] = await Promise.all([code, once(child, 'disconnect')]);
  clearTimeout(ending);
  return { passed, failed: exitCode === 0 ? failed : Math.max(failed, 1), skipped };
}

/** Prints nothing while jest runs: jest redraws its last lines, and would erase parts of the output. */
async function check(): Promise<{ isFailed: boolean; output: string }> {
  const { child, code } = start(['npm', 'run', '--silent', 'check'], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const isFailed = (await code) !== 0;
  if (isFailed && !interrupted) print('npm run check FAILED; its output stands at the end of this run');
  return { isFailed, output };
}

/** Runs jest once for each list of arguments, on the same servers. */
async function onServers(...runs: string[][]): Promise<Counts> {
  const { path: dataDir, remove } = await temporaryFolder('support-read-models-test-');
  let stack: Stack | undefined;
  const counts: Counts = { passed: 0, failed: 0, skipped: [] };
  try {
    stack = await startStack({ report: print, dataDir });
    const { kafkaBrokers: KAFKA_BROKERS, mongodbUrl: MONGODB_URL } = stack;
    print(`The tests run on ${stack.store}`);
    if (stack.store.includes('stand-in')) counts.skipped.push(`every test on MongoDB itself: ${stack.store}`);
    // kafkajs sets timers in the past, of which Node warns in every process.
    const NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --disable-warning=TimeoutNegativeWarning`;
    const environment = { ...process.env, KAFKA_BROKERS, MONGODB_URL, NODE_OPTIONS };
    for (const args of runs) {
      const counted = await jest(args, isLong ? { ...environment, TEST_LONG: '1' } : environment);
      counts.passed += counted.passed;
      counts.failed += counted.failed;
      counts.skipped.push(...counted.skipped);
    }
  } finally {
    await stack?.stop();
    await remove();
  }
  return counts;
}

async function main(): Promise<Counts> {
  if (jestArguments.length > 0) return onServers(['--runInBand', ...jestArguments]);
  if (isLong) {
    return onServers(
      ['--maxWorkers=2', ...sized, ...longOnly, '--testPathIgnorePatterns', ...measuring],
      ['--runInBand', ...measuring],
    );
  }
  const checking = check();
  // Tests wait for servers more than they compute: four workers keep two cores busy.
  const counts = await onServers(['--maxWorkers=4', '--testPathIgnorePatterns', ...longOnly]);
  const { isFailed, output } = await checking;
  if (isFailed && !interrupted) print(`\nnpm run check\n${output}`);
  return { ...counts, failed: counts.failed + (isFailed ? 1 : 0) };
}

print(`The seed of the order of the test files is ${seed}`);
try {
  const { passed, failed, skipped } = await main();
  process.exitCode = failed > 0 ? 1 : 0;
  if (interrupted) process.exitCode = 130;
  else {
    const command = `npm ${isLong ? 'run test:long' : 'test'}${jestArguments.length > 0 ? ' -- ' : ''}`;
    if (failed > 0) print(`\nThe same order again: TEST_SEED=${seed} ${command}${jestArguments.join(' ')}`);
    if (skipped.length > 0) print(`\nNot checked here:\n${skipped.join('\n')}`);
    print(`\n${passed} passed, ${failed} failed`);
  }
} catch (error) {
  endAll('SIGTERM');
  process.stderr.write(`${errorMessage(error)}\n`);
  process.exitCode = interrupted ? 130 : 1;
}
