import { readFileSync } from 'node:fs';
import { helpCommands } from '../../tests/support/help-verbs.ts';
import { parseArguments } from './command.ts';
import { progressLine } from './output.ts';

describe('the arguments of the CLI', () => {
  const requestId = 'req_01HNZX8JGFACFA36RBXDHEQN6E';

  test.each([
    ['', 'a verb is missing: one of topics, status, ', ''],
    ['statu', "unknown command 'statu' (Did you mean status?)", ''],
    ['topics', 'topics needs a verb: one of create', 'topics '],
    ['topics creat', "unknown command 'creat' (Did you mean create?)", 'topics '],
    ['topics create --json', "unknown option '--json'", 'topics create '],
    ['topics create --partitions 0', 'It takes a whole number from 1 to 1000.', 'topics create '],
    ['topics create --partitions 1e2', 'It takes a whole number from 1 to 1000.', 'topics create '],
    ['status now', "too many arguments for 'status'", 'status '],
    ['keys block key_1', "required option '--why <text>' not specified", 'keys block '],
    ...[
      ...['accept gap', 'keys block key_1', 'verify', 'dead-letters skip t/0/1'],
      ...['start', 'promote 1', 'rollback 1', 'drop 1'].map((verb) => `rebuild ${verb}`),
    ].map((verb): [string, string, string] => [
      `${verb} --why ${'x'.repeat(501)}`,
      'A reason has 1 to 500 characters.',
      `${verb.replace(/ (gap|key_1|t.0.1|1)$/, '')} `,
    ]),
    ['keys create --org org_1 --name \t', 'A name has 1 to 1024 characters.', 'keys create '],
    ['keys create --org org_1 --mode dev', 'live, test', 'keys create '],
    ['keys list --org acme', 'An organization id looks like org_1.', 'keys list '],
    ['trace', "missing required argument 'Request-Id'", 'trace '],
    ['trace req_1', 'A request id is req_ and 26 characters.', 'trace '],
    [`trace ${requestId}0`, 'A request id is req_ and 26 characters.', 'trace '],
    [`trace ${requestId} ${requestId}`, "too many arguments for 'trace'", 'trace '],
    [`trace ${requestId} --partitions 3`, "unknown option '--partitions'", 'trace '],
  ])('"%s" is a usage error of two lines: the problem, and how to get help', (args, problem, verb) => {
    const parsed = parseArguments(args.split(' ').filter(Boolean));
    const [first, ...others] = 'usageError' in parsed ? parsed.usageError : [];
    expect(first).toContain(problem);
    expect(others).toEqual([`Help: npx support-cli ${verb}--help`]);
  });

  test.each([['--help'], ['status --help'], ['dead-letters redrive -h'], ['trace --help']])(
    '"%s" prints help, with the exit codes or an example',
    (args) => {
      const parsed = parseArguments(args.split(' '));
      expect('help' in parsed && parsed.help).toMatch(/Exit codes|Examples?:\n {2}npx support-cli /);
    },
  );
});

test('a line of progress is printed over until the last one', () => {
  expect([progressLine(1, 2), progressLine(2, 2)]).toEqual(['1 of 2\r', '2 of 2\n']);
});

test('--version prints the release of package.json', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(parseArguments(['--version'])).toEqual({ help: `${version}\n` });
});

test('every example of the help is a command, with --json if the verb has it', () => {
  const commands = [[], ...helpCommands().map(({ path }) => path)];
  const examples = commands.flatMap(examplesOf);
  expect(examples.length).toBeGreaterThan(20);
  for (const example of examples) {
    const parsed = parseArguments(wordsOf(example));
    expect({ example, parsed }).toEqual({ example, parsed: { command: expect.anything() as unknown } });
  }
});

/** The examples in the help of a verb, without the name of the program and the commands after a pipe. */
function examplesOf(command: string[]): string[] {
  const parsed = parseArguments([...command, '--help']);
  if (!('help' in parsed)) throw new Error(`${command.join(' ')} --help prints no help`);
  const lines = parsed.help.matchAll(/^ {2}npx support-cli (.+?)(?: \|.*)?$/gm);
  return [...lines].map(([, example = '']) => example);
}

/** Splits an example into its arguments, as a shell does; an argument in quotes can have spaces. */
function wordsOf(example: string): string[] {
  const words = example.matchAll(/"([^"]*)"|(\S+)/g);
  return [...words].map(([, quoted, bare = '']) => quoted ?? bare);
}
