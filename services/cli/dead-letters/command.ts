import { InvalidArgumentError, Option, type Command } from '@commander-js/extra-typings';
import { parseInstant } from '../../../shared/documents/instant.ts';
import { rejectionReasons, type Rejection } from '../../projector/events/change.ts';
import { example, jsonOption, wholeNumber } from '../options.ts';

type Reason = Rejection['reason'];

/** Which letters are meant; an absent filter holds for all. `since` is included, `until` is not. */
export type DeadLetterFilter = {
  topic?: string;
  reason?: Reason;
  key?: string;
  orgId?: string;
  since?: Date;
  until?: Date;
};

/** Letters by id, or by filters (none: all); `limit` of them at most. */
export type Selection = { ids: string[] } | { filter: DeadLetterFilter; limit: number };

export type DeadLettersCommand =
  | { verb: 'dead-letters list'; filter: DeadLetterFilter; limit: number; json: boolean }
  | { verb: 'dead-letters show'; id: string; raw: boolean; json: boolean }
  | { verb: 'dead-letters redrive'; selection: Selection; dryRun: boolean; json: boolean }
  | { verb: 'dead-letters purge'; selection: Selection; yes: boolean; json: boolean };

const reasons = Object.keys(rejectionReasons) as Reason[];
const listLimit = { default: 50, max: 1_000 };

type FilterOptions = {
  topic?: string | undefined;
  reason?: Reason | undefined;
  key?: string | undefined;
  org?: string | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
};

/** The verbs that take filters begin with them. */
const filtered = (group: Command, name: string) =>
  group
    .command(name)
    .option('--topic <topic>', 'of this topic')
    .addOption(new Option('--reason <reason>', 'set aside for this reason').choices(reasons))
    .option('--key <key>', 'whose record has this key')
    .option('--org <id>', 'of this organization', orgIdOf)
    .option('--since <instant>', 'last set aside at this RFC 3339 instant or later', instantOf)
    .option('--until <instant>', 'last set aside before this instant', instantOf)
    .addOption(jsonOption());

/** The verbs that work on many letters take their ids, or filters, or `--all`. */
const selecting = (group: Command, name: string) =>
  filtered(group, name)
    .argument('[ids...]', '<topic>/<partition>/<offset>', idsOf)
    .option('--limit <n>', 'so many at most', wholeNumber(Number.MAX_SAFE_INTEGER))
    .option('--all', 'all of them');

/** Adds the verbs of the dead letters. */
export function addDeadLetters(program: Command, accept: (command: DeadLettersCommand) => void): void {
  const group = program
    .command('dead-letters')
    .helpCommand(false)
    .description('records that were set aside; they need MONGODB_URL only')
    .addHelpText('after', '\nAn id is <topic>/<partition>/<offset>, as list prints it.');
  filtered(group, 'list')
    .description('the last one first, and how many there are by topic and reason')
    .option('--limit <n>', 'so many at most', wholeNumber(listLimit.max), listLimit.default)
    .addHelpText('after', example('dead-letters list --reason bad_data --since 2026-11-21T00:00:00Z'))
    .action(({ limit, json = false, ...filter }) =>
      accept({ verb: 'dead-letters list', filter: filterOf(filter), limit, json }),
    );
  group
    .command('show')
    .description('one of them, secrets and personal data redacted')
    .argument('<id>', '<topic>/<partition>/<offset>', idOf)
    .option('--raw', "print the value's bytes as they are; with --json, key and headers too, in base64")
    .addOption(jsonOption())
    .addHelpText('after', '\nOf a record above 8 MB only the head is kept.')
    .addHelpText('after', example('dead-letters show support.contacts/0/17'))
    .action((id, { raw = false, json = false }) => accept({ verb: 'dead-letters show', id, raw, json }));
  const redrive = selecting(group, 'redrive')
    .description('apply them again, out of band: what succeeds is removed, what is refused stays')
    .option('--dry-run', 'only tell what would become of each')
    .addHelpText('after', '\nExits 1 where one is refused.')
    .addHelpText(
      'after',
      example(
        'dead-letters redrive support.contacts/0/17',
        'dead-letters redrive --topic support.contacts --dry-run',
      ),
    )
    .action((ids, { dryRun = false, json = false, ...options }) => {
      const selection = selectionOf(ids, options);
      if (typeof selection === 'string') redrive.error(selection);
      else accept({ verb: 'dead-letters redrive', selection, dryRun, json });
    });
  const purge = selecting(group, 'purge')
    .description('delete them from the store; asks on a terminal')
    .option('--yes', 'do not ask')
    .addHelpText('after', example('dead-letters purge --until 2026-10-01T00:00:00Z --yes'))
    .action((ids, { yes = false, json = false, ...options }) => {
      const selection = selectionOf(ids, options);
      if (typeof selection === 'string') purge.error(selection);
      else accept({ verb: 'dead-letters purge', selection, yes, json });
    });
}

/** The letters that are meant, or what is wrong. Never all for want of an argument: `--all` has to be said. */
function selectionOf(
  ids: string[],
  { all, limit, ...options }: FilterOptions & { all?: true | undefined; limit?: number | undefined },
): Selection | string {
  const filter = filterOf(options);
  const ways = [ids.length > 0, Object.keys(filter).length > 0, all === true].filter(Boolean).length;
  if (ways !== 1) return 'it takes ids, or filters, or --all: one of the three';
  if (ids.length === 0) return { filter, limit: limit ?? Infinity };
  return limit === undefined ? { ids: [...new Set(ids)] } : '--limit goes with filters and --all';
}

const filterOf = ({ topic, reason, key, org, since, until }: FilterOptions): DeadLetterFilter => ({
  ...(topic !== undefined && { topic }),
  ...(reason !== undefined && { reason }),
  ...(key !== undefined && { key }),
  ...(org !== undefined && { orgId: org }),
  ...(since && { since }),
  ...(until && { until }),
});

function orgIdOf(text: string): string {
  if (/^org_./.test(text)) return text;
  throw new InvalidArgumentError('An organization has an id such as org_1.');
}

const idShape = /^[A-Za-z0-9._-]{1,249}\/\d{1,10}\/\d{1,16}$/;

function idOf(text: string): string {
  if (idShape.test(text)) return text;
  throw new InvalidArgumentError('An id of a dead letter is <topic>/<partition>/<offset>.');
}

const idsOf = (text: string, before: string[] | undefined): string[] => [...(before ?? []), idOf(text)];

function instantOf(text: string): Date {
  const instant = parseInstant(text);
  if (instant) return instant;
  throw new InvalidArgumentError('It takes an instant such as 2026-01-31T09:00:00Z.');
}
