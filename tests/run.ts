import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import { once } from 'node:events';
import { dieWithParent } from '../infra/dev-servers/parent-death.ts';
import type { Stack } from '../infra/dev-servers/provider.ts';
import { startStack } from '../infra/dev-servers/stack.ts';
import { temporaryFolder } from '../infra/dev-servers/temporary-folder.ts';
import { errorMessage } from '../shared/runtime/error-message.ts';

/**
 * `npm test` starts a Kafka and a store, and runs all tests but the long ones beside `npm run check`. `npm run
 * test:long` runs randomized tests at full size, browsers, limits of memory and connections, and faults of servers.
 * Arguments after `--` go to jest, which then runs without the checks: `npm test -- tests/convergence`. `TEST_SEED`
 * repeats the order of the files.
 */
const isLong = process.argv[2] === '--long';
const jestArguments = process.argv.slice(isLong ? 3 : 2);
const seed = process.env.TEST_SEED ?? `${Math.floor(Math.random() * 1_000_000)}`;
const print = (line: string) => process.stdout.write(`${line}\n`);

const longOnly = ['\\.long\\.test\\.ts$', '/tests/faults/'];
/** Randomized tests, which `npm run test:long` runs at full size. */
const randomized = ['/tests/simulation/simulation\\.test', '/tests/convergence/'];
/** Tests that measure memory and time, or stop servers. Jest runs them one at a time so that no test disturbs them. */
const measuring = ['/tests/(api|bench)/.*\\.long\\.test\\.ts$', '/tests/faults/'];

/**
 * The driver imports `os` when it first connects, and jest refuses a dynamic import without VM modules. The driver
 * would then send no metadata, and MongoDB refuses a client without metadata. The workers of jest inherit the options.
 */
const nodeOptions = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];

/** The run kills jest this long after its last test. Jest ends within seconds unless a test has left something open. */
const endLimitMs = 180_000;

/** The counts in the last line of a run. A failed `npm run check` counts as one failure. */
type Counts = { passed: number; failed: number; skipped: string[] };

const children = new Set<ChildProcess>();
let isInterrupted = false;
const endAll = (signal: NodeJS.Signals) => children.forEach((child) => endGroup(child, signal));

/** Signals a child and its process group, because a worker of jest outlives jest until its test ends. */
function endGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // All processes of the group have ended.
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    isInterrupted = true;
    endAll(signal);
  });
}

function start(command: string[], options: SpawnOptions): { child: ChildProcess; exited: Promise<number> } {
  const [file = '', ...args] = [...dieWithParent(), ...command];
  const child = spawn(file, args, { ...options, detached: true });
  children.add(child);
  const exited = once(child, 'close').then(([exitCode]) => {
    children.delete(child);
    endGroup(child, 'SIGKILL');
    return typeof exitCode === 'number' ? exitCode : 1;
  });
  return { child, exited };
}

async function runJest(args: string[], environment: NodeJS.ProcessEnv): Promise<Counts> {
  if (isInterrupted) return { passed: 0, failed: 0, skipped: [] };
  const { child, exited } = start(
    [process.execPath, ...nodeOptions, 'node_modules/.bin/jest', `--seed=${seed}`, ...args],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], env: environment },
  );
  // tests/reporter.mjs sends the counts after the last test. The channel closes after its last message.
  let counts: Counts = { passed: 0, failed: 0, skipped: [] };
  let endLimit: NodeJS.Timeout | undefined;
  child.on('message', (message: Counts) => {
    counts = message;
    endLimit = setTimeout(() => {
      print(`Jest was killed ${endLimitMs / 1_000} s after its last test: a test has left something open`);
      endGroup(child, 'SIGKILL');
    }, endLimitMs);
  });
  const [exitCode] = await Promise.all([exited, once(child, 'disconnect')]);
  clearTimeout(endLimit);
  return exitCode === 0 ? counts : { ...counts, failed: Math.max(counts.failed, 1) };
}

/** Collects the output of `npm run check`. Jest redraws its last lines, which would erase parts of that output. */
async function runCheck(): Promise<{ isFailed: boolean; output: string }> {
  const { child, exited } = start(['npm', 'run', '--silent', 'check'], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  const isFailed = (await exited) !== 0;
  if (isFailed && !isInterrupted) print('npm run check FAILED; its output comes at the end of this run');
  return { isFailed, output };
}

/** Starts servers, and runs jest on them once for each list of arguments. */
async function runOnServers(...runs: string[][]): Promise<Counts> {
  const { path: dataDir, remove } = await temporaryFolder('support-read-models-test-');
  let stack: Stack | undefined;
  const counts: Counts = { passed: 0, failed: 0, skipped: [] };
  try {
    stack = await startStack({ report: print, dataDir });
    const { kafkaBrokers: KAFKA_BROKERS, mongodbUrl: MONGODB_URL } = stack;
    print(`The tests run on ${stack.store}`);
    if (stack.store.includes('stand-in')) counts.skipped.push(`every test on MongoDB itself: ${stack.store}`);
    // kafkajs sets timers in the past. Node would warn of them in every process.
    const NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --disable-warning=TimeoutNegativeWarning`;
    const environment = { ...process.env, KAFKA_BROKERS, MONGODB_URL, NODE_OPTIONS };
    for (const args of runs) {
      const result = await runJest(args, isLong ? { ...environment, TEST_LONG: '1' } : environment);
      counts.passed += result.passed;
      counts.failed += result.failed;
      counts.skipped.push(...result.skipped);
    }
  } finally {
    await stack?.stop();
    await remove();
  }
  return counts;
}

async function main(): Promise<Counts> {
  if (jestArguments.length > 0) return runOnServers(['--runInBand', ...jestArguments]);
  if (isLong) {
    return runOnServers(
      ['--maxWorkers=2', ...randomized, ...longOnly, '--testPathIgnorePatterns', ...measuring],
      ['--runInBand', ...measuring],
    );
  }
  const checking = runCheck();
  // Tests wait for servers more than they compute, so four workers keep two cores busy.
  const counts = await runOnServers(['--maxWorkers=4', '--testPathIgnorePatterns', ...longOnly]);
  const { isFailed, output } = await checking;
  if (isFailed && !isInterrupted) print(`\nnpm run check\n${output}`);
  return { ...counts, failed: counts.failed + (isFailed ? 1 : 0) };
}

print(`The seed of the order of the test files is ${seed}`);
try {
  const { passed, failed, skipped } = await main();
  if (isInterrupted) {
    process.exitCode = 130;
  } else {
    process.exitCode = failed > 0 ? 1 : 0;
    const command = ['npm', isLong ? 'run test:long' : 'test'];
    if (jestArguments.length > 0) command.push('--', ...jestArguments);
    if (failed > 0) print(`\nThe same order again: TEST_SEED=${seed} ${command.join(' ')}`);
    if (skipped.length > 0) print(`\nNot checked here:\n${skipped.join('\n')}`);
    print(`\n${passed} passed, ${failed} failed`);
  }
} catch (error) {
  endAll('SIGTERM');
  process.stderr.write(`${errorMessage(error)}\n`);
  process.exitCode = isInterrupted ? 130 : 1;
}
