import {
  type Command,
  type CommandUnknownOpts,
  InvalidArgumentError,
  Option,
} from '@commander-js/extra-typings';
import type { RecordPlace } from '../../../shared/control/ledger.ts';
import { type Rejection, rejectionReasons } from '../../../shared/control/rejections.ts';
import { parseInstant } from '../../../shared/documents/instant.ts';
import {
  type DeadLetterFilter,
  isFiltered,
  type Selection,
} from '../../operations/dead-letters/selection.ts';
import type { SelectVerb } from '../context.ts';
import { exampleHelp, jsonOption, parseOrgId, wholeNumber, whyOption } from '../options.ts';
import { skip } from './skip.ts';
import * as verbs from './verbs.ts';

const reasons = Object.keys(rejectionReasons) as Rejection['reason'][];
const listLimit = { default: 50, max: 1_000 };

/** Adds a verb with the options that filter dead letters. */
const withFilters = (group: Command, name: string) =>
  group
    .command(name)
    .option('--topic <topic>', 'only records of this topic')
    .addOption(new Option('--reason <reason>', 'only records rejected for this reason').choices(reasons))
    .option('--key <key>', 'only records with this key')
    .option('--org <id>', 'only records of this organization', parseOrgId)
    .option(
      '--since <instant>',
      'only records last dead-lettered at this RFC 3339 instant or later',
      parseInstantOption,
    )
    .option('--until <instant>', 'only records last dead-lettered before this instant', parseInstantOption)
    .addOption(jsonOption());

/** Adds a verb that takes ids, or filters, or `--all`. */
const withSelection = (group: Command, name: string) =>
  withFilters(group, name)
    .argument('[ids...]', '<topic>/<partition>/<offset>@<timestamp>', appendId)
    .option('--limit <n>', 'at most this many; with filters or --all', wholeNumber(Number.MAX_SAFE_INTEGER))
    .option('--all', 'select every dead letter');

export function addDeadLetters(program: Command, select: SelectVerb): void {
  const group = program
    .command('dead-letters')
    .helpCommand(false)
    .description('list, inspect, redrive or delete records that the projector could not apply, or skip one')
    .addHelpText('after', '\nAn id is <topic>/<partition>/<offset>@<timestamp>, as list prints it.\n');
  withFilters(group, 'list')
    .description('list dead letters, the latest first, with counts by topic and reason')
    .option('--limit <n>', 'at most this many', wholeNumber(listLimit.max), listLimit.default)
    .addHelpText('after', exampleHelp('dead-letters list --reason bad_data --since 2026-11-21T00:00:00Z'))
    .action(({ limit, json, ...filter }) => select(verbs.list, { filter, limit, json }));
  group
    .command('show')
    .description('print one dead letter, without its headers and its value')
    .argument('<id>', '<topic>/<partition>/<offset>@<timestamp>', parseId)
    .option('--raw', 'print the original bytes of the value; with --json, key, headers and value in base64')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nThe bytes of a record above 8 MB, or beyond the share of its topic, are in Kafka alone.',
    )
    .addHelpText('after', exampleHelp('dead-letters show support.contacts/0/17@1795503600000'))
    .action((id, options) => select(verbs.show, { id, ...options }));
  addRedrive(group, select);
  addPurge(group, select);
  addSkip(group, select);
}

function addRedrive(group: Command, select: SelectVerb): void {
  withSelection(group, 'redrive')
    .description(
      'apply dead letters again while projectors run; remove the applied ones, and keep the refused ones',
    )
    .option('--dry-run', 'print the outcome of each, but change nothing')
    .addHelpText(
      'after',
      '\nExit code 1 if any is refused or not found. Reads records whose bytes are not stored from Kafka.',
    )
    .addHelpText(
      'after',
      exampleHelp(
        'dead-letters redrive support.contacts/0/17@1795503600000',
        'dead-letters redrive --topic support.contacts --dry-run',
      ),
    )
    .action((ids, { dryRun, json, ...selectors }, verb) =>
      select(verbs.redrive, { selection: selectionOf(verb, ids, selectors), dryRun, json }),
    );
}

function addPurge(group: Command, select: SelectVerb): void {
  withSelection(group, 'purge')
    .description('delete dead letters; asks for confirmation on a terminal')
    .option('--yes', 'do not ask for confirmation')
    .option('--dry-run', 'print how many it would delete, but change nothing')
    .addHelpText(
      'after',
      '\nThe ledger keeps the position and the reason of each, the operator and the time. A rebuild that reads the record\n' +
        'again stores no dead letter.',
    )
    .addHelpText('after', exampleHelp('dead-letters purge --until 2026-10-01T00:00:00Z --yes'))
    .action((ids, { yes, dryRun, json, ...selectors }, verb) =>
      select(verbs.purge, { selection: selectionOf(verb, ids, selectors), yes, dryRun, json }),
    );
}

function addSkip(group: Command, select: SelectVerb): void {
  group
    .command('skip')
    .description(
      'the last resort for a partition that stands still: store one record as a dead letter without applying it',
    )
    .argument('<record>', '<topic>/<partition>/<offset>', parsePlace)
    .addOption(whyOption('the reason, which the dead letter shows').makeOptionMandatory())
    .option('--yes', 'do not ask for confirmation')
    .option('--dry-run', 'make the checks, but change nothing')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      '\nApplies to every generation that has not applied the record. Its projector skips the record once the batch of the\n' +
        'record has failed again. "redrive" applies it later.',
    )
    .addHelpText(
      'after',
      exampleHelp('dead-letters skip support.messages/1/8012 --why "stops release 1.4.0"'),
    )
    .action((place, options) => select(skip, { place, ...options }));
}

/** Returns the selection, or reports a usage error. A missing argument never selects all: that takes `--all`. */
function selectionOf(
  verb: Pick<CommandUnknownOpts, 'error'>,
  ids: string[],
  { all, limit, ...filter }: DeadLetterFilter & { all?: true | undefined; limit?: number | undefined },
): Selection {
  const selectors = [ids.length > 0, isFiltered(filter), all === true].filter(Boolean).length;
  if (selectors !== 1) verb.error('give exactly one of: ids, or filters, or --all');
  if (ids.length === 0) return { filter, limit: limit ?? Infinity };
  if (limit !== undefined) verb.error('--limit goes with filters or --all, not with ids');
  return { ids: [...new Set(ids)] };
}

function parsePlace(text: string): RecordPlace {
  const [, topic = '', partition, offset] =
    /^([A-Za-z0-9._-]{1,249})\/(\d{1,10})\/(\d{1,15})$/.exec(text) ?? [];
  if (topic !== '') return { topic, partition: Number(partition), offset: Number(offset) };
  throw new InvalidArgumentError(
    text.includes('@')
      ? 'A record that is not yet a dead letter has no @<timestamp>: <topic>/<partition>/<offset>.'
      : 'A record is <topic>/<partition>/<offset>, such as support.messages/1/8012.',
  );
}

function parseId(text: string): string {
  // The timestamp is in milliseconds, up to 64 bits.
  if (/^[A-Za-z0-9._-]{1,249}\/\d{1,10}\/\d{1,15}@-?\d{1,19}$/.test(text)) return text;
  throw new InvalidArgumentError(
    'The id of a dead letter is <topic>/<partition>/<offset>@<timestamp>, as list prints it.',
  );
}

const appendId = (text: string, previous: string[] = []): string[] => [...previous, parseId(text)];

function parseInstantOption(text: string): Date {
  const instant = parseInstant(text);
  if (instant) return instant;
  throw new InvalidArgumentError('It takes an instant such as 2026-01-31T09:00:00Z.');
}
