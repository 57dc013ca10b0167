import { explained } from '../../shared/kafka/errors.ts';
import { configOrExit, type Environment, readConfig } from '../../shared/runtime/config.ts';
import { commandsIn } from '../operations/deployment.ts';
import { deploymentSetting } from '../operations/settings.ts';
import { parseArguments } from './command.ts';
import { isClosedPipe, type Terminal, UsageError } from './context.ts';
import { escapeHidden, onOneLine } from './output.ts';

/** Runs the verb that the arguments select. Returns the exit code of the process. */
export async function runCommandLine(args: string[], environment: Environment, raw: Terminal) {
  const terminal: Terminal = {
    ...raw,
    print: (text) => raw.print(typeof text === 'string' ? escapeHidden(text) : text),
    report: (line) => raw.report(escapeHidden(onOneLine(line))),
    confirm: raw.confirm === null ? null : confirmOnOneLine(raw.confirm),
  };
  const { DEPLOYMENT } = configOrExit(readConfig(deploymentSetting, environment));
  const { cli } = commandsIn[DEPLOYMENT];
  const parsed = parseArguments(args, cli);
  if ('help' in parsed) {
    return printOutput(terminal, parsed.help, 0);
  }
  if ('usageError' in parsed) {
    for (const line of parsed.usageError) terminal.report(line);
    return 2;
  }
  const { verb, run } = parsed.command;
  try {
    const { text, exitCode } = await run({ verb, cli, environment, terminal });
    return await printOutput(terminal, text, exitCode);
  } catch (error) {
    terminal.report(`${verb} failed: ${explained(error)}`);
    return error instanceof UsageError ? 2 : 1;
  }
}

/** Shows the question on one line, because a line break in a name could hide the act from the operator. */
const confirmOnOneLine = (confirm: NonNullable<Terminal['confirm']>) => (question: string) =>
  confirm(escapeHidden(onOneLine(question)));

/**
 * Prints the output of a verb. Ignores a closed pipe, for example when `head` has read enough. Any other lost output is
 * a failure.
 */
async function printOutput(terminal: Terminal, text: string | Buffer, exitCode: number): Promise<number> {
  try {
    await terminal.print(text);
  } catch (error) {
    if (!isClosedPipe(error)) throw error;
  }
  return exitCode;
}
