import type { Terminal } from '../../services/cli/context.ts';
import { runCommandLine } from '../../services/cli/run.ts';
import { eventually, notYet } from './eventually.ts';

/** The exit code of a command, its output, and its lines for the operator. */
type Ended = { code: number; text: string; errors: string };

/**
 * Runs a command of the CLI in this process, which sees only these environment variables. `confirm` answers its
 * questions; by default there is no terminal to ask.
 */
export async function runCli(
  environment: Record<string, string | undefined>,
  args: string[],
  confirm: Terminal['confirm'] = null,
): Promise<Ended> {
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

/**
 * Runs a command until Kafka answers it in time. A status waits for Kafka for three seconds, which is too short for a
 * slow machine. Without an answer it lacks findings.
 */
export async function onceKafkaAnswers(command: () => Promise<Ended>): Promise<Ended> {
  let ended: Ended = { code: 0, text: '', errors: '' };
  await eventually(async () => {
    ended = await command();
    return !`${ended.text}${ended.errors}`.includes('no answer for') || notYet(ended);
  });
  return ended;
}
