import { explained } from '../../shared/kafka/remedies.ts';
import { configOrExit, readConfig, type Environment } from '../../shared/runtime/config.ts';
import { commandsIn } from '../operations/deployment.ts';
import { deploymentSetting } from '../operations/settings.ts';
import { parseArguments } from './command.ts';
import { UsageError, type Terminal } from './context.ts';

/** Runs the verb that the arguments select; returns the exit code of the process. */
export async function runCommandLine(args: string[], environment: Environment, terminal: Terminal) {
  const { DEPLOYMENT } = configOrExit(readConfig(deploymentSetting, environment));
  const { cli } = commandsIn[DEPLOYMENT];
  const parsed = parseArguments(args, cli);
  if ('help' in parsed) {
    terminal.print(parsed.help);
    return 0;
  }
  if ('usageError' in parsed) {
    terminal.report(parsed.usageError.trimEnd());
    return 2;
  }
  const { verb, run } = parsed.command;
  try {
    const { text, exitCode } = await run({ verb, cli, environment, terminal });
    terminal.print(text);
    return exitCode;
  } catch (error) {
    terminal.report(`${verb} failed: ${explained(error)}`);
    return error instanceof UsageError ? 2 : 1;
  }
}
