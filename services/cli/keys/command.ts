import { Option, type Command } from '@commander-js/extra-typings';
import { example, jsonOption, orgIdOf } from '../options.ts';

export type KeysCommand =
  | { verb: 'keys list'; org?: string | undefined; json: boolean }
  | { verb: 'keys block'; id: string; why: string }
  | { verb: 'keys unblock'; id: string };

/** Adds the verbs that show and block API keys. */
export function addKeys(program: Command, accept: (command: KeysCommand) => void): void {
  const group = program
    .command('keys')
    .helpCommand(false)
    .description('list API keys, and block the ones that must stop working at once');
  group
    .command('list')
    .description('print the id, organization, mode, state and name of each key; no tokens are stored')
    .option('--org <id>', 'only keys of this organization', orgIdOf)
    .addOption(jsonOption())
    .addHelpText('after', example('keys list --org org_1'))
    .action(({ org, json = false }) => accept({ verb: 'keys list', org, json }));
  group
    .command('block')
    .description('block a key: every API replica refuses it within 6 seconds, without Kafka or a projector')
    .argument('<id>', 'as "keys list" prints it')
    .addOption(new Option('--why <text>', 'the reason, which "keys list" prints').makeOptionMandatory())
    .addHelpText('after', '\nIt stays blocked until "keys unblock", even after a promotion or a rollback.')
    .addHelpText('after', example('keys block key_1 --why "leaked in a public repository"'))
    .action((id, { why }) => accept({ verb: 'keys block', id, why }));
  group
    .command('unblock')
    .description('let a blocked key work again, unless it is archived or deleted')
    .argument('<id>', 'as "keys list" prints it')
    .addHelpText('after', example('keys unblock key_1'))
    .action((id) => accept({ verb: 'keys unblock', id }));
}
