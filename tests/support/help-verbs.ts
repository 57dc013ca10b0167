import { parseArguments } from '../../services/cli/command.ts';

/** A command that the help of the CLI lists: a verb, such as `rebuild start`, or a group, such as `rebuild`. */
type HelpCommand = { path: string[]; isGroup: boolean };

/** All verbs and groups. Each group comes before its verbs. */
export function helpCommands(): HelpCommand[] {
  const commands: HelpCommand[] = [];
  for (const name of listedIn([])) {
    const verbs = listedIn([name]);
    commands.push({ path: [name], isGroup: verbs.length > 0 });
    for (const verb of verbs) commands.push({ path: [name, verb], isGroup: false });
  }
  return commands;
}

export const helpVerbs = (): string[][] =>
  helpCommands()
    .filter(({ isGroup }) => !isGroup)
    .map(({ path }) => path);

/** The names that the help of the CLI, or of a group, lists. The help of a verb lists none. */
function listedIn(path: string[]): string[] {
  const parsed = parseArguments([...path, '--help']);
  if (!('help' in parsed)) throw new Error(`${path.join(' ')} --help prints no help`);
  const [, list = ''] = parsed.help.split('Commands:\n');
  const lines = list.matchAll(/^ {2}([a-z-]+) /gm);
  return [...lines].map(([, name = '']) => name);
}
