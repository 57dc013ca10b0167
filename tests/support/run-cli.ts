import type { Terminal } from '../../services/cli/context.ts';
import { runCommandLine } from '../../services/cli/run.ts';

/**
 * Runs a command of the CLI in this process, with these variables of the environment alone. `confirm` answers its
 * questions; by default there is no terminal to ask.
 */
export async function runCli(
  environment: Record<string, string | undefined>,
  args: string[],
  confirm: Terminal['confirm'] = null,
) {
  let [text, errors] = ['', ''];
  const code = await runCommandLine(args, environment, {
    print: async (printed) => {
      text += printed.toString();
    },
    // A verb prints that it waits for Kafka if the machine is slow.
    report: (line) => (errors += line.startsWith('waiting for Kafka at ') ? '' : `${line}\n`),
    progress: () => undefined,
    confirm,
  });
  // A terminal shows no line after the last line end.
  return { code, text: text.replace(/\n$/, ''), errors };
}
