import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { startService } from '../../infra/service.ts';
import { parseArguments } from '../../services/cli/command.ts';
import { configs } from '../../services/cli/config.ts';
import { type Context, withKafka } from '../../services/cli/context.ts';
import { ensureRegistry } from '../../shared/control/generations.ts';
import { topicOf } from '../../shared/kafka/topics.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import { containing } from '../support/matchers.ts';
import { logEnds } from '../support/progress.ts';
import { runCli } from '../support/run-cli.ts';
import { createTestEnvironment } from '../support/test-environment.ts';
import { useFolder, useOpened } from '../support/use-opened.ts';

const runFile = promisify(execFile);
const cliProgram = `${process.execPath} services/cli/main.ts`;

const testEnvironment = useOpened(() => createTestEnvironment(1));
const folder = useFolder();
beforeAll(async () => {
  await ensureRegistry(testEnvironment.control);
  await ensureIndexes(testEnvironment.database);
});

test('an example of the help runs in a shell and pipes only JSON', async () => {
  const parsed = parseArguments(['status', '--help']);
  const help = 'help' in parsed ? parsed.help : '';
  const [, line = '', field = ''] = /^ {2}(.+ --json) \| jq \.(\w+)$/m.exec(help) ?? [];
  const program = `JSON.parse(fs.readFileSync(0, 'utf8')).${field}`;
  const shell = ['-c', `${line} | "$0" -p "$1"`, process.execPath, program];
  const env = { ...process.env, ...testEnvironment.variables, npm_config_cache: folder.path };
  const { stdout } = await runFile('bash', shell, { env });
  expect(stdout).toBe('0\n');
});

/** Runs a line of bash in the environment of the tests. */
const runLine = (line: string) => {
  const env = { PATH: process.env.PATH, ...testEnvironment.variables };
  return runFile('bash', ['--norc', '-c', line], { env });
};

/** Runs a pipe with a verb of the CLI. Rejects if the verb fails. */
const runPipe = (verb: string, reader: string) =>
  runLine(`set -o pipefail; ${cliProgram} ${verb} | ${reader}`);

/** The exit code of a verb that runs in a pipe, or with its output elsewhere. */
async function exitCodeOf(verb: string): Promise<number> {
  const { stdout } = await runLine(`exec 3>&1; ${cliProgram} ${verb}; echo "$PIPESTATUS" >&3`);
  const lines = stdout.trim().split('\n');
  return Number(lines.at(-1));
}

test('rebuild status --watch --json prints one JSON value on each line until its reader ends', async () => {
  const { stdout, stderr } = await runPipe('rebuild status --watch --json', 'head -n 2');
  expect(stderr).toBe('');
  const lines = stdout.trimEnd().split('\n');
  expect(lines).toHaveLength(2);
  for (const line of lines) expect(JSON.parse(line)).toMatchObject({ active: 1 });
});

test('a verb does its work although the reader of its progress has ended', async () => {
  await runPipe('verify 2>&1 >/dev/null', 'true');
});

test('a verb has its own exit code although its output or its messages cannot be written', async () => {
  expect(await exitCodeOf('status --check >/dev/null')).toBe(1);
  expect(await exitCodeOf('status --check | true')).toBe(1);
  expect(await exitCodeOf('trace req_01HNZX8JGFACFA36RBXDHEQN6E 2>/dev/full')).toBe(1);
});

test('a verb fails if its result cannot be written', async () => {
  expect(await exitCodeOf('status --json >/dev/full')).toBe(1);
});

test('keys create publishes no key if its token cannot be printed', async () => {
  const { admin, variables } = testEnvironment;
  const keyTopics = [topicOf('apiKey', variables.TOPIC_PREFIX)];
  const endsBefore = await logEnds(admin, keyTopics);
  expect(await exitCodeOf('keys create --org org_1 >/dev/full')).toBe(1);
  expect(await logEnds(admin, keyTopics)).toEqual(endsBefore);
});

test('standard output has only JSON although the Kafka client logs errors', async () => {
  const { KAFKA_BROKERS } = testEnvironment.variables;
  const settings = { LOG_LEVEL: 'error', KAFKA_BROKERS: `127.0.0.1:9,${KAFKA_BROKERS}` };
  const cli = startService('cli', { ...testEnvironment.variables, ...settings }, ['status', '--json']);
  expect(await cli.exited).toBe(0);
  expect(JSON.parse(cli.stdout())).toMatchObject({ active: 1 });
});

/** Runs a verb with these changes of the environment; undefined unsets a variable. */
const run = (changes: Record<string, string | undefined>, ...args: string[]) =>
  runCli({ ...testEnvironment.variables, LOG_LEVEL: 'silent', ...changes }, args);

test('the help shows the commands of the deployment', async () => {
  const help = await run({ DEPLOYMENT: 'compose' }, 'status', '--help');
  expect(help).toMatchObject({ code: 0, errors: '' });
  expect(help.text).toContain('\n  docker compose run --rm cli status --json | jq');
});

test('a verb names the deployments if its own is unknown', async () => {
  const unknown = startService('cli', { ...testEnvironment.variables, DEPLOYMENT: 'nomad' }, ['status']);
  expect(await unknown.exited).toBe(2);
  expect(unknown.stderr()).toBe('Bad configuration:\n  DEPLOYMENT: must be one of source, compose, helm\n');
});

test('trace needs no read model, because an API may store traces before a projector starts', async () => {
  const withoutReadModel = { DATABASE_NAME: `${testEnvironment.name}-alone` };
  const { errors } = await run(withoutReadModel, 'trace', 'req_01HNZX8JGFACFA36RBXDHEQN6E');
  expect(errors).toContain('there is no trace of req_01HNZX8JGFACFA36RBXDHEQN6E');
});

test('topics create needs no MongoDB', async () => {
  const created = await run({ MONGODB_URL: undefined, DATABASE_NAME: undefined }, 'topics', 'create');
  expect(created).toMatchObject({ code: 0, errors: '' });
  expect(created.text).toContain('already exists, left unchanged');
});

test('a long verb reports no wait for Kafka once Kafka is connected', async () => {
  jest.useFakeTimers({
    doNotFake: ['Date', 'nextTick', 'queueMicrotask', 'setImmediate', 'clearImmediate', 'setInterval'],
    advanceTimers: true,
  });
  const report = jest.fn();
  const context = { environment: testEnvironment.variables, terminal: { report } } as unknown as Context;
  const work = async () => {
    // A slow connection may have been reported before the work began.
    report.mockClear();
    jest.advanceTimersByTime(6_000);
  };
  try {
    await withKafka(context, configs.kafka(context.environment), work);
  } finally {
    jest.useRealTimers();
  }
  expect(report).not.toHaveBeenCalled();
});

const withoutKafka = { KAFKA_BROKERS: '127.0.0.1:1' };

test('status without Kafka shows everything that MongoDB stores', async () => {
  const { code, text, errors } = await run(withoutKafka, 'status');
  expect({ code, errors }).toEqual({ code: 0, errors: '' });
  expect(text).toMatch(/^ {2}bad +Kafka \(KAFKA_BROKERS\)/m);
  expect(text).toMatch(/^generation 1 {2}/m);
});

test('status --check fails without Kafka', async () => {
  expect(await run(withoutKafka, 'status', '--check')).toMatchObject({ code: 1 });
});

const refused = 'there is no generation 7; the only generation is 1';

test('a refused verb exits with code 1 and prints the reason', async () => {
  expect(await run({}, 'rebuild', 'drop', '7')).toMatchObject({
    code: 1,
    text: containing(`rebuild drop refused: ${refused}`),
  });
});

test('a refused verb names the next command of the deployment', async () => {
  const { text } = await run({ DEPLOYMENT: 'compose' }, 'rebuild', 'compare', '1');
  expect(text).toMatch(/its own entities: docker compose run --rm cli verify$/);
});

test('a refused verb prints the reason as JSON with --json', async () => {
  const { code, text } = await run({}, 'rebuild', 'drop', '7', '--json');
  expect({ code, printed: JSON.parse(text) as unknown }).toEqual({ code: 1, printed: { refused } });
});
