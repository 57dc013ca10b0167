import type { CommandUnknownOpts } from '@commander-js/extra-typings';

/** What may follow: the verbs of a group, or the options of a verb. */
const wordsAfter = (command: CommandUnknownOpts): string[] =>
  command.commands.length > 0
    ? command.commands.map((verb) => verb.name())
    : [...command.options.flatMap(({ long }) => long ?? []), '--help'];

/**
 * A script for bash, and for zsh by way of its `bashcompinit`. commander completes nothing itself; the verbs are
 * fixed, so the script holds them, and completing starts no process.
 */
export function completionScript(program: CommandUnknownOpts, alias: string): string {
  const groups = program.commands.flatMap((group) => [
    ...group.commands.map((verb) => [`${group.name()} ${verb.name()}`, wordsAfter(verb)] as const),
    [group.name(), wordsAfter(group)] as const,
  ]);
  const cases = [...groups, ['', wordsAfter(program)] as const].map(
    ([path, words]) => `    "${path}"*) words="${words.join(' ')}" ;;`,
  );
  const name = `_${alias.replaceAll('-', '_')}`;
  return [
    'if [ -n "${ZSH_VERSION:-}" ]; then autoload -U +X bashcompinit && bashcompinit; fi',
    `${name}() {`,
    '  local words current="${COMP_WORDS[COMP_CWORD]}"',
    '  case "${COMP_WORDS[*]:1:COMP_CWORD-1}" in',
    ...cases,
    '  esac',
    '  COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '}',
    `complete -F ${name} ${alias}`,
    '',
  ].join('\n');
}
