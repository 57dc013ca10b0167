import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseArguments } from './command.ts';

describe('the arguments of the CLI', () => {
  const requestId = 'req_01HNZX8JGFACFA36RBXDHEQN6E';

  it('select a verb and its options', () => {
    expect(parseArguments(['trace', requestId])).toMatchObject({
      command: { verb: 'trace', options: { requestId } },
    });
    expect(parseArguments(['status', '--json'])).toMatchObject({
      command: { verb: 'status', options: { json: true } },
    });
    expect(parseArguments(['topics', 'create'])).toMatchObject({
      command: { verb: 'topics create', options: { partitions: 3 } },
    });
  });

  it.each([
    [
      '',
      'a verb is missing: one of topics, status, trace, explain, rebuild, verify, dead-letters, keys, shard, completion',
      '',
    ],
    ['statu', "unknown command 'statu' (Did you mean status?)", ''],
    ['topics', 'topics needs a verb: one of create', 'topics '],
    ['topics creat', "unknown command 'creat' (Did you mean create?)", 'topics '],
    ['topics create --json', "unknown option '--json'", 'topics '],
    ['topics create --partitions 0', 'It takes a whole number from 1 to 1000.', 'topics '],
    ['topics create --partitions 1e2', 'It takes a whole number from 1 to 1000.', 'topics '],
    ['status now', "too many arguments for 'status'", 'status '],
    ['keys block key_1', "required option '--why <text>' not specified", 'keys '],
    ['keys list --org acme', 'An organization id looks like org_1.', 'keys '],
    ['trace', "missing required argument 'Request-Id'", 'trace '],
    ['trace req_1', 'A request id is req_ and 26 characters.', 'trace '],
    [`trace ${requestId}0`, 'A request id is req_ and 26 characters.', 'trace '],
    [`trace ${requestId} ${requestId}`, "too many arguments for 'trace'", 'trace '],
    [`trace ${requestId} --partitions 3`, "unknown option '--partitions'", 'trace '],
  ])('"%s" is a usage error of two lines: the problem, and how to get help', (args, problem, verb) => {
    const parsed = parseArguments(args.split(' ').filter(Boolean));
    const [first, ...others] = ('usageError' in parsed ? parsed.usageError : '').split('\n');
    expect(first).toContain(problem);
    expect(others).toEqual([`Help: npx support-cli ${verb}--help`, '']);
  });

  it.each([['--help'], ['status --help'], ['dead-letters redrive -h'], ['trace --help']])(
    '"%s" prints help, with the exit codes or an example',
    (args) => {
      const parsed = parseArguments(args.split(' '));
      expect('help' in parsed && parsed.help).toMatch(/Exit codes|Examples?:\n {2}npx support-cli /);
    },
  );
});

it('--version prints the release of package.json', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  expect(parseArguments(['--version'])).toEqual({ help: `${version}\n` });
});

it('every example of the help is a command, with --json if the verb has it', () => {
  const helps = [['--help'], ...verbs().map((verb) => [...verb, '--help'])].map((args) =>
    parseArguments(args),
  );
  const text = helps.map((parsed) => ('help' in parsed ? parsed.help : '')).join('\n');
  const examples = [...text.matchAll(/^ {2}npx support-cli (.+?)(?: \|.*)?$/gm)].map(
    ([, words]) => words ?? '',
  );
  expect(examples.length).toBeGreaterThan(20);
  for (const words of examples) {
    const args = [...words.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
    expect([words, parseArguments(args)]).toEqual([words, { command: expect.anything() as unknown }]);
  }
});

function completion(...alias: string[]): string {
  const parsed = parseArguments(['completion', ...alias]);
  return 'command' in parsed ? (parsed.command.options as { script: string }).script : '';
}

/** The verbs that the completion script knows. */
function verbs(): string[][] {
  return [...completion().matchAll(/^ {4}"([a-z- ]+)"\*\)/gm)].map(([, path = '']) => path.split(' '));
}

describe('the completion script', () => {
  const script = completion('my-cli');
  const complete = (...typed: string[]) =>
    execFileSync(
      'bash',
      [
        '-c',
        `${script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _my_cli; echo "\${COMPREPLY[*]}"`,
        'bash',
        ...typed,
      ],
      { encoding: 'utf8' },
    ).trim();

  it('completes verbs, the verbs of a group, and options', () => {
    expect(complete('my-cli', 'st')).toBe('status');
    expect(complete('my-cli', 'dead-letters', '')).toBe('list show redrive purge');
    expect(complete('my-cli', 'dead-letters', 'purge', '--y')).toBe('--yes');
    expect(complete('my-cli', 'dead-letters', 'list', '--reason', 'x', '--l')).toBe('--limit');
    expect(complete('my-cli', 'topics', 'create', '--')).toBe('--partitions --help');
  });

  it('refuses an alias that a shell would not accept', () => {
    expect(parseArguments(['completion', 'rm -rf'])).toHaveProperty('usageError');
  });
});
