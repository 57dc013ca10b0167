import { spawn } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { startStack, type Stack } from '../infra/dev-servers/stack.ts';
import { temporaryFolder } from '../infra/dev-servers/temporary-folder.ts';
import { tiedToParent } from '../infra/dev-servers/tied-to-parent.ts';

/**
 * `npm test`: types, lint and format; then a Kafka and a store of this run's own; then every test on them.
 * Words behind `npm test --` go to jest, which then runs without the checks: `npm test -- tests/convergence`.
 */
const words = process.argv.slice(2);
const say = (line: string) => process.stdout.write(`${line}\n`);

/** Faults of real servers take minutes of their own: `npm run test:faults`. */
const everythingElse = ['--testPathIgnorePatterns', '/node_modules/', '/tests/faults/'];

let stack: Stack | undefined;
let running: ReturnType<typeof spawn> | undefined;
let interrupted = false;

const run = (
  command: string,
  args: string[],
  environment: NodeJS.ProcessEnv = process.env,
): Promise<number> =>
  new Promise((resolve, reject) => {
    const [file = '', ...rest] = [...tiedToParent(), join('node_modules', '.bin', command), ...args];
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

const checks: [string, string, string[]][] = [
  ['types', 'tsc', ['--noEmit']],
  ['lint', 'eslint', ['.', '--max-warnings', '0']],
  ['format', 'prettier', ['--check', '--log-level', 'warn', '.']],
];

async function main(): Promise<number> {
  if (words.length === 0) {
    for (const [name, command, args] of checks) {
      say(`Checking ${name}`);
      const code = await run(command, args);
      if (code !== 0) return code;
    }
  }
  const { path: dataDir, release } = await temporaryFolder('support-read-models-test-');
  try {
    stack = await startStack({ report: say, dataDir });
    if (interrupted) return 130;
    const { kafkaBrokers: KAFKA_BROKERS, mongodbUrl: MONGODB_URL } = stack;
    // kafkajs sets timers in the past, of which Node 24 warns in every process.
    const NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --disable-warning=TimeoutNegativeWarning`;
    const environment = { ...process.env, KAFKA_BROKERS, MONGODB_URL, NODE_OPTIONS };
    const chosen = words.length > 0 ? words : everythingElse;
    return await run('jest', ['--runInBand', ...chosen], environment);
  } finally {
    await stack?.stop();
    await rm(dataDir, { recursive: true, force: true });
    await release();
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
