import { createInterface } from 'node:readline';
import { shellLine } from './request.ts';
import { startScript, type Script } from './service.ts';

/** The command as an operator types it. */
export const commandLine = (words: string[]): string => shellLine(['npx', 'support-cli', ...words]);

/**
 * Runs a command of the CLI, and passes on each line that it prints, as soon as it prints it. Rejects with its output if
 * it fails.
 */
export async function runCommand(
  words: string[],
  {
    environment,
    keep,
    onLine,
  }: {
    environment: Record<string, string>;
    /** Receives the process, to stop it with the demo. */
    keep: (started: Script) => void;
    onLine: (line: string) => void;
  },
): Promise<void> {
  const script = ['services/cli/main.ts', ...words];
  const { child, started } = startScript(script, environment, ['ignore', 'pipe', 'pipe']);
  keep(started);
  const printed: string[] = [];
  for (const input of [child.stdout, child.stderr]) {
    if (!input) continue;
    createInterface({ input }).on('line', (line) => {
      printed.push(line);
      onLine(line);
    });
  }
  const how = await started.ended;
  if (how !== 'exit code 0')
    throw new Error(`${commandLine(words)} failed (${how}). It printed:\n${printed.join('\n')}`);
}
