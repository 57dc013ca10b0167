import { Command, CommanderError, InvalidArgumentError } from '@commander-js/extra-typings';
import { requestIdShape } from '../../shared/store/request-traces.ts';
import { completionScript } from './completion.ts';
import { addDeadLetters, type DeadLettersCommand } from './dead-letters/command.ts';
import { example, jsonOption, wholeNumber } from './options.ts';

/** A verb with its options. */
export type CliCommand =
  | { verb: 'topics create'; partitions: number }
  | { verb: 'status'; json: boolean }
  | { verb: 'trace'; requestId: string; json: boolean }
  | { verb: 'completion'; script: string }
  | DeadLettersCommand;

/** What the arguments come to: a verb to run, the help that they ask for, or what is wrong with them. */
export type ParsedArguments = { command: CliCommand } | { help: string } | { usageError: string };

const name = 'npm run cli --';

/** Reads the arguments behind `npm run cli --`. */
export function parseArguments(args: string[]): ParsedArguments {
  const output = { help: '', error: '' };
  let found: CliCommand | undefined;
  const program = createProgram(output, (command) => (found = command));
  try {
    program.parse(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { help: output.help };
    const path = program.commands.some((command) => command.name() === args[0]) ? `${args[0]} ` : '';
    const problem = error.code === 'commander.help' ? missingVerb(program, args) : inOneLine(output.error);
    return { usageError: `${problem}\nHelp: ${name} ${path}--help\n` };
  }
  if (!found) throw new Error('a verb without an action');
  return { command: found };
}

const inOneLine = (text: string) =>
  text
    .replace(/^error: /, '')
    .trim()
    .replaceAll('\n', ' ');

function missingVerb(program: Command, [first]: string[]): string {
  const group = program.commands.find((command) => command.name() === first);
  const verbs = (group ?? program).commands.map((command) => command.name());
  return `${group ? `${group.name()} needs a verb` : 'a verb is missing'}: one of ${verbs.join(', ')}`;
}

/** `output` receives what commander would print. */
function createProgram(
  output: { help: string; error: string },
  accept: (command: CliCommand) => void,
): Command {
  // Set before the verbs are added: each takes these over.
  const program = new Command(name)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => (output.help += text),
      writeErr: (text) => (output.error += text),
    })
    .description('Creates topics, shows what the projectors have done, and works on dead letters.')
    .helpCommand(false);
  const topics = program
    .command('topics')
    .helpCommand(false)
    .description("the Kafka topics of the read model's events");
  topics
    .command('create')
    .description('create the topics and the dead-letter topic where they are absent')
    .option('--partitions <n>', 'partitions of each, 1 to 1000', wholeNumber(1_000), 3)
    .addHelpText('after', example('topics create --partitions 6'))
    .action(({ partitions }) => accept({ verb: 'topics create', partitions }));
  program
    .command('status')
    .description(
      'positions, ends and lag by partition; documents by kind; what is pending; dead letters; the ' +
        'watermark; topics that a rebuild cannot rely on',
    )
    .addOption(jsonOption())
    .addHelpText('after', example('status', 'status --json | jq .deadLetters'))
    .action(({ json = false }) => accept({ verb: 'status', json }));
  program
    .command('trace')
    .description('what is kept of one request to the API; needs MONGODB_URL only')
    .argument('<Request-Id>', 'as the header Request-Id of the answer gives it', requestIdOf)
    .addOption(jsonOption())
    .addHelpText('after', example('trace req_01HNZX8JGFACFA36RBXDHEQN6E'))
    .action((requestId, { json = false }) => accept({ verb: 'trace', requestId, json }));
  addDeadLetters(program, accept);
  program
    .command('completion')
    .description('print a script with which bash or zsh complete the verbs and options')
    .argument('[alias]', `the shell's alias for "${name}"`, aliasOf, 'support-cli')
    .addHelpText(
      'after',
      '\nExample:\n  alias support-cli="npm run --silent cli --"\n  eval "$(support-cli completion support-cli)"\n',
    )
    .action((alias) => accept({ verb: 'completion', script: completionScript(program, alias) }));
  program.addHelpText(
    'after',
    `
topics and status read KAFKA_BROKERS and MONGODB_URL from the environment, the others MONGODB_URL alone.
Exit codes: 0 done; 1 not done, or not all of it; 2 wrong arguments or a bad configuration.
`,
  );
  return program;
}

function requestIdOf(text: string): string {
  if (requestIdShape.test(text)) return text;
  throw new InvalidArgumentError('A request id is req_ and 26 characters.');
}

function aliasOf(text: string): string {
  if (/^[A-Za-z][A-Za-z0-9_-]*$/.test(text)) return text;
  throw new InvalidArgumentError('An alias is letters, digits, - and _.');
}
