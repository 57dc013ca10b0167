import type { Terminal } from '../../services/cli/context.ts';
import { runCommandLine } from '../../services/cli/run.ts';

/**
 * Runs a command of the CLI in this process, which sees only these environment variables. `confirm` answers its
 * questions; by default there is no terminal to ask.
 */
export async function runCli(
  environment: Record<string, string | undefined>,
  args: string[],
  confirm: Terminal['confirm'] = null,
) {
  let text = '';
  let errors = '';
  const code = await runCommandLine(args, environment, {
    print: async (printed) => {
      text += printed.toString();
    },
    report: (line) => {
      // On a slow machine a verb also reports that it waits for Kafka.
      if (!line.startsWith('waiting for Kafka at ')) errors += `${line}\n`;
    },
    progress: () => undefined,
    confirm,
  });
  // A terminal shows no line after the last line end.
  return { code, text: text.replace(/\n$/, ''), errors };
}
