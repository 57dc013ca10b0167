import { dirname, join } from 'node:path';
import { findDebianProgram } from '../../infra/dev-servers/native/debian-program.ts';
import { mustRun } from '../../infra/dev-servers/native/run.ts';

/** Runs a tool in the folder of the main program of a Debian package. */
export async function runTool(debianPackage: string, tool: string, ...args: string[]): Promise<string> {
  const report = (line: string) => process.stdout.write(`${line}\n`);
  const program = await findDebianProgram(report, [debianPackage], '--version');
  const path = join(dirname(program.at(-1) ?? ''), tool);
  const [file = '', ...rest] = [...program.slice(0, -1), path, ...args];
  return mustRun(file, rest);
}

export const promtool = (...args: string[]) => runTool('prometheus', 'promtool', ...args);
