import { explained } from '../../shared/kafka/errors.ts';
import { configOrExit, type Environment, readConfig } from '../../shared/runtime/config.ts';
import { commandsIn } from '../operations/deployment.ts';
import { deploymentSetting } from '../operations/settings.ts';
import { parseArguments } from './command.ts';
import { isClosedPipe, type Terminal, UsageError } from './context.ts';
import { onOneLine, printable } from './output.ts';

/** Runs the verb that the arguments select; returns the exit code of the process. */
export async function runCommandLine(args: string[], environment: Environment, raw: Terminal) {
  const terminal: Terminal = {
    ...raw,
    print: (text) => raw.print(typeof text === 'string' ? printable(text) : text),
    report: (line) => raw.report(printable(onOneLine(line))),
    confirm: raw.confirm && confirmOnOneLine(raw.confirm),
  };
  const { DEPLOYMENT } = configOrExit(readConfig(deploymentSetting, environment));
  const { cli } = commandsIn[DEPLOYMENT];
  const parsed = parseArguments(args, cli);
  if ('help' in parsed) {
    return printLast(terminal, parsed.help, 0);
  }
  if ('usageError' in parsed) {
    for (const line of parsed.usageError) terminal.report(line);
    return 2;
  }
  const { verb, run } = parsed.command;
  try {
    const { text, exitCode } = await run({ verb, cli, environment, terminal });
    return await printLast(terminal, text, exitCode);
  } catch (error) {
    terminal.report(`${verb} failed: ${explained(error)}`);
    return error instanceof UsageError ? 2 : 1;
  }
}

/** Shows the question on one line: a line end in a name could otherwise hide the act that the operator confirms. */
const confirmOnOneLine = (confirm: NonNullable<Terminal['confirm']>) => (question: string) =>
  confirm(printable(onOneLine(question)));

/**
 * Prints the output of a verb. A reader that has ended, as `head` does, is no failure; any other lost output is one.
 */
async function printLast(terminal: Terminal, text: string | Buffer, exitCode: number): Promise<number> {
  try {
    await terminal.print(text);
  } catch (error) {
    if (!isClosedPipe(error)) throw error;
  }
  return exitCode;
}
