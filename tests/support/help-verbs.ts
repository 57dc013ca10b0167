import { parseArguments } from '../../services/cli/command.ts';

/** The verbs that the help of the CLI lists, such as `status`, and the verbs of each group, such as `rebuild start`. */
export function helpVerbs(path: string[] = []): string[][] {
  const parsed = parseArguments([...path, '--help']);
  const [, commands = ''] = ('help' in parsed ? parsed.help : '').split('Commands:\n');
  const listed = [...commands.matchAll(/^ {2}([a-z-]+) /gm)].map(([, name = '']) => [...path, name]);
  return path.length === 0 ? listed.flatMap((verb) => [verb, ...helpVerbs(verb)]) : listed;
}
