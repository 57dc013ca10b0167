import { configOrExit, readConfig, type Environment } from '../../shared/runtime/config.ts';
import { commandsIn } from '../operations/deployment.ts';
import { deploymentSetting } from '../operations/settings.ts';
import { parseArguments, type ParsedCommand } from './command.ts';
import { explained, UsageError, type Context, type Terminal } from './context.ts';

/** Runs the verb that the arguments select; returns the exit code of the process. */
export async function runCommandLine(args: string[], environment: Environment, terminal: Terminal) {
  const { DEPLOYMENT } = configOrExit(readConfig(deploymentSetting, environment));
  const { cli } = commandsIn[DEPLOYMENT];
  const parsed = parseArguments(args, cli);
  if ('command' in parsed) return runVerb(parsed.command, { cli, environment, terminal });
  if ('help' in parsed) {
    terminal.print(parsed.help);
    return 0;
  }
  terminal.report(parsed.usageError.trimEnd());
  return 2;
}

async function runVerb({ verb, run }: ParsedCommand, context: Omit<Context, 'verb'>) {
  const { terminal } = context;
  try {
    const { text, exitCode } = await run({ ...context, verb });
    terminal.print(text);
    return exitCode;
  } catch (error) {
    terminal.report(`${verb} failed: ${explained(error)}`);
    return error instanceof UsageError ? 2 : 1;
  }
}
