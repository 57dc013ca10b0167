import type { CommandUnknownOpts } from '@commander-js/extra-typings';

/** The arguments that can follow: the verbs of a group, or the options of a verb. */
const candidatesAfter = (command: CommandUnknownOpts): string[] =>
  command.commands.length > 0
    ? command.commands.map((verb) => verb.name())
    : [...command.options.flatMap(({ long }) => long ?? []), '--help'];

/**
 * Returns a script for bash, and for zsh through its `bashcompinit`. commander has no completion. The script lists
 * the verbs itself, so completing starts no process.
 */
export function completionScript(program: CommandUnknownOpts, alias: string): string {
  const groups = program.commands.flatMap((group) => [
    ...group.commands.map((verb) => [`${group.name()} ${verb.name()}`, candidatesAfter(verb)] as const),
    [group.name(), candidatesAfter(group)] as const,
  ]);
  const cases = [...groups, ['', candidatesAfter(program)] as const].map(
    ([path, candidates]) => `    "${path}"*) candidates="${candidates.join(' ')}" ;;`,
  );
  const name = `_${alias.replaceAll('-', '_')}`;
  return [
    'if [ -n "${ZSH_VERSION:-}" ]; then autoload -U +X bashcompinit && bashcompinit; fi',
    `${name}() {`,
    '  local candidates current="${COMP_WORDS[COMP_CWORD]}"',
    '  case "${COMP_WORDS[*]:1:COMP_CWORD-1}" in',
    ...cases,
    '  esac',
    '  COMPREPLY=($(compgen -W "$candidates" -- "$current"))',
    '}',
    `complete -F ${name} ${alias}`,
    '',
  ].join('\n');
}
