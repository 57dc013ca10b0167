import { Command, CommanderError, type CommandUnknownOpts, Help } from '@commander-js/extra-typings';
import { release } from '../../shared/runtime/release.ts';
import { commandsIn } from '../operations/deployment.ts';
import { addAccept } from './accept.ts';
import { addCheck } from './check.ts';
import type { Context, Output, SelectVerb } from './context.ts';
import { addDeadLetters } from './dead-letters/command.ts';
import { addExplain, addTrace } from './explain.ts';
import { addKeys } from './keys.ts';
import { addRebuild } from './rebuild/command.ts';
import { addStatus } from './status.ts';
import { addTopics } from './topics.ts';
import { addVerify } from './verify.ts';

/** The verb that the arguments select, with its options. */
type ParsedCommand = { verb: string; options: unknown; run: (context: Context) => Promise<Output> };

/** The result of parsing: a verb to run, help to print, or a usage error. */
type ParsedArguments = { command: ParsedCommand } | { help: string } | { usageError: string[] };

/**
 * Parses the arguments of the CLI. The examples of the help begin with `programName`, with which an operator starts it.
 */
export function parseArguments(args: string[], programName = commandsIn.source.cli): ParsedArguments {
  const output = { help: '', error: '' };
  let verb = '';
  let command: ParsedCommand | undefined;
  const program = createProgram(programName, output, (run, options) => {
    command = { verb, options, run: (context) => run(context, options) };
  });
  program.hook('preAction', (_, action) => {
    const group = action.parent && action.parent !== program ? `${action.parent.name()} ` : '';
    verb = group + action.name();
  });
  try {
    program.parse(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { help: output.help };
    const problem =
      error.code === 'commander.help' ? missingVerbText(program, args) : usageErrorText(output.error);
    return { usageError: [problem, `Help: ${verbPath(program, args)} --help`] };
  }
  if (!command) throw new Error('no verb has run: every verb needs an action');
  return { command };
}

/** The command that starts the verb or group which the first arguments name. */
function verbPath(program: CommandUnknownOpts, [first, ...rest]: string[]): string {
  const subcommand = program.commands.find((command) => command.name() === first);
  return subcommand ? `${program.name()} ${verbPath(subcommand, rest)}` : program.name();
}

/** Commander's text of a usage error, on one line and without its prefix. */
const usageErrorText = (text: string) =>
  text
    .replace(/^error: /, '')
    .trim()
    .replaceAll('\n', ' ');

function missingVerbText(program: Command, [first]: string[]): string {
  const group = program.commands.find((command) => command.name() === first);
  const verbs = (group ?? program).commands.map((command) => command.name());
  return `${group ? `${group.name()} needs a verb` : 'a verb is missing'}: one of ${verbs.join(', ')}`;
}

const environmentAndExitCodes = `
Environment: KAFKA_BROKERS and MONGODB_URL name the servers; a verb that lacks a setting names it.
Exit codes: 0 success; 1 failed, refused, or done in part; 2 usage error or invalid configuration; 3 waiting for a generation cannot help.
`;

/** `output` receives the text that commander would print. */
function createProgram(programName: string, output: { help: string; error: string }, select: SelectVerb) {
  // These settings come before the verbs, because a verb inherits them when it is added.
  const program = new Command(programName)
    .exitOverride()
    .configureHelp({
      optionDescription: (option) =>
        `${new Help().optionDescription(option)}${option.mandatory ? ' (required)' : ''}`,
    })
    .configureOutput({
      writeOut: (text) => {
        output.help += text;
      },
      writeErr: (text) => {
        output.error += text;
      },
    })
    .description('Manages the read models: their topics, generations, documents, dead letters and API keys.')
    .version(release)
    .helpCommand(false);
  addTopics(program, select);
  addStatus(program, select);
  addCheck(program, select);
  addTrace(program, select);
  addExplain(program, select);
  addAccept(program, select);
  addRebuild(program, select);
  addVerify(program, select);
  addDeadLetters(program, select);
  addKeys(program, select);
  program.addHelpText('after', environmentAndExitCodes);
  return program;
}
