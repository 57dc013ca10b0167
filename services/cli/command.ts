import { Command, CommanderError, InvalidArgumentError } from '@commander-js/extra-typings';
import { release } from '../../shared/runtime/release.ts';
import { requestIdShape } from '../../shared/store/request-traces.ts';
import { completionScript } from './completion.ts';
import { addDeadLetters, type DeadLettersCommand } from './dead-letters/command.ts';
import { addKeys, type KeysCommand } from './keys/command.ts';
import { addRebuild, type RebuildCommand } from './rebuild/command.ts';
import { example, jsonOption, programName, wholeNumber } from './options.ts';

/** A verb with its options. */
export type CliCommand =
  | { verb: 'topics create'; partitions: number }
  | { verb: 'status'; json: boolean }
  | { verb: 'trace'; requestId: string; json: boolean }
  | { verb: 'completion'; script: string }
  | DeadLettersCommand
  | KeysCommand
  | RebuildCommand;

/** The result of parsing: a verb to run, help to print, or a usage error. */
export type ParsedArguments = { command: CliCommand } | { help: string } | { usageError: string };

/** Parses the arguments of the CLI. */
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
    return { usageError: `${problem}\nHelp: ${programName} ${path}--help\n` };
  }
  if (!found) throw new Error('no verb has run: every verb needs an action');
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

const environmentAndExitCodes = `
Environment: topics, status, rebuild and verify need KAFKA_BROKERS and MONGODB_URL; trace, dead-letters and keys need MONGODB_URL.
Exit codes: 0 success; 1 failed, refused, or done in part; 2 usage error or invalid configuration; 3 a build fails.
`;

/** `output` receives the text that commander would print. */
function createProgram(
  output: { help: string; error: string },
  accept: (command: CliCommand) => void,
): Command {
  // These settings come first, because each verb inherits them when it is added.
  const program = new Command(programName)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => (output.help += text),
      writeErr: (text) => (output.error += text),
    })
    .description(
      'Creates the Kafka topics, shows the state of the read model, rebuilds it, works on dead letters, and blocks API keys.',
    )
    .version(release)
    .helpCommand(false);
  program
    .command('topics')
    .helpCommand(false)
    .description('the Kafka topics that carry the events')
    .command('create')
    .description('create the topics that do not exist yet')
    .option('--partitions <n>', 'partitions of each topic, 1 to 1000', wholeNumber(1_000), 3)
    .addHelpText('after', example('topics create --partitions 6'))
    .action(({ partitions }) => accept({ verb: 'topics create', partitions }));
  program
    .command('status')
    .description(
      'print position, end and lag of each partition, pending documents, dead letters, the watermark, topics whose ' +
        'settings make a rebuild unsafe, and an estimate of the documents of each kind',
    )
    .addOption(jsonOption())
    .addHelpText('after', example('status', 'status --json | jq .deadLetters'))
    .action(({ json = false }) => accept({ verb: 'status', json }));
  program
    .command('trace')
    .description('print the stored trace of one API request')
    .argument('<Request-Id>', 'from the Request-Id header of the response', requestIdOf)
    .addOption(jsonOption())
    .addHelpText('after', example('trace req_01HNZX8JGFACFA36RBXDHEQN6E'))
    .action((requestId, { json = false }) => accept({ verb: 'trace', requestId, json }));
  addRebuild(program, accept);
  addDeadLetters(program, accept);
  addKeys(program, accept);
  program
    .command('completion')
    .description('print a script that completes verbs and options in bash or zsh')
    .argument('[alias]', `the shell's alias for "${programName}"`, aliasOf, 'support-cli')
    .addHelpText(
      'after',
      `\nExample:\n  alias support-cli="${programName}"\n  eval "$(support-cli completion support-cli)"\n`,
    )
    .action((alias) => accept({ verb: 'completion', script: completionScript(program, alias) }));
  program.addHelpText('after', environmentAndExitCodes);
  return program;
}

function requestIdOf(text: string): string {
  if (requestIdShape.test(text)) return text;
  throw new InvalidArgumentError('A request id is req_ and 26 characters.');
}

function aliasOf(text: string): string {
  if (/^[A-Za-z][A-Za-z0-9_-]*$/.test(text)) return text;
  throw new InvalidArgumentError('An alias starts with a letter and has letters, digits, - and _ only.');
}
