import { parseArgs } from 'node:util';
import { parseInstant } from '../../../shared/documents/instant.ts';
import { rejectionReasons, type Rejection } from '../../projector/events/change.ts';

/** Which letters are meant; an absent filter holds for all. `since` is included, `until` is not. */
export type LetterFilter = {
  topic?: string;
  reason?: Rejection['reason'];
  key?: string;
  orgId?: string;
  since?: Date;
  until?: Date;
};

/** Letters by id, or by filters (none: all); `limit` of them at most. */
export type Selection = { ids: string[] } | { filter: LetterFilter; limit: number };

export type DeadLettersCommand =
  | { verb: 'dead-letters list'; filter: LetterFilter; limit: number; json: boolean }
  | { verb: 'dead-letters show'; id: string; raw: boolean; json: boolean }
  | { verb: 'dead-letters redrive'; selection: Selection; dryRun: boolean; json: boolean }
  | { verb: 'dead-letters purge'; selection: Selection; yes: boolean; json: boolean };

export const deadLettersUsage = `  dead-letters list [filters] [--json]
                                   Records that were set aside: the last one first, 50 unless --limit says
                                   otherwise (1000 at most); then how many there are by topic and reason.
  dead-letters show <id> [--raw] [--json]
                                   One of them, secrets and personal data redacted. --raw prints the value's
                                   bytes as they are; with --json, key and headers too, in base64. Of a record
                                   above 8 MB only the head is kept.
  dead-letters redrive <id>…|filters|--all [--dry-run] [--json]
                                   Applies them again, out of band: what succeeds is removed, what is refused
                                   stays. Exits 1 where one is refused. Needs the store only.
  dead-letters purge <id>…|filters|--all [--yes] [--json]
                                   Deletes them from the store; asks on a terminal unless --yes is given.
    An id is <topic>/<partition>/<offset>, as list prints it. Filters: --topic T, --reason R, --key K, --org O,
    --since and --until (RFC 3339, by when it was last set aside), --limit N.
`;

const options = {
  topic: { type: 'string' },
  reason: { type: 'string' },
  key: { type: 'string' },
  org: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
  limit: { type: 'string' },
  all: { type: 'boolean' },
  raw: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  yes: { type: 'boolean' },
  json: { type: 'boolean' },
} as const;

type Options = {
  [K in keyof typeof options]?: (typeof options)[K]['type'] extends 'string' ? string : boolean;
};

const filterOptions: (keyof Options)[] = ['topic', 'reason', 'key', 'org', 'since', 'until', 'limit'];
const selectionOptions: (keyof Options)[] = [...filterOptions, 'all', 'json'];

const optionsOf = {
  list: [...filterOptions, 'json'],
  show: ['raw', 'json'],
  redrive: [...selectionOptions, 'dry-run'],
  purge: [...selectionOptions, 'yes'],
} satisfies Record<string, (keyof Options)[]>;

const isVerb = (word: string): word is keyof typeof optionsOf => Object.hasOwn(optionsOf, word);

const listLimit = { fallback: 50, max: 1_000 };

/** Reads the words behind `dead-letters`. */
export function parseDeadLetters(words: string[]): DeadLettersCommand | { fault: string } {
  let parsed;
  try {
    parsed = parseArgs({ args: words, allowPositionals: true, options });
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
  const [verb = '', ...ids] = parsed.positionals;
  const given: Options = parsed.values;
  if (!isVerb(verb)) return { fault: 'dead-letters takes list, show, redrive or purge' };
  const allowed: string[] = optionsOf[verb];
  const stray = Object.keys(given).find((name) => !allowed.includes(name));
  if (stray) return { fault: `--${stray} does not go with dead-letters ${verb}` };
  const badId = ids.find((id) => !idShape.test(id));
  if (badId !== undefined)
    return { fault: `${badId} is no id of a dead letter: <topic>/<partition>/<offset>` };
  return commandOf(verb, ids, given);
}

const idShape = /^[A-Za-z0-9._-]{1,249}\/\d{1,10}\/\d{1,16}$/;

function commandOf(
  verb: keyof typeof optionsOf,
  ids: string[],
  given: Options,
): DeadLettersCommand | { fault: string } {
  const json = given.json ?? false;
  if (verb === 'show') {
    const [id, ...more] = ids;
    if (id === undefined || more.length > 0) return { fault: 'dead-letters show takes one id' };
    return { verb: 'dead-letters show', id, raw: given.raw ?? false, json };
  }
  const filter = filterOf(given);
  if ('fault' in filter) return filter;
  if (verb === 'list') {
    if (ids.length > 0) return { fault: 'dead-letters list takes filters; show takes an id' };
    const limit = limitOf(given, listLimit);
    return typeof limit === 'number' ? { verb: 'dead-letters list', filter, limit, json } : limit;
  }
  const selection = selectionOf(verb, ids, filter, given);
  if ('fault' in selection) return selection;
  return verb === 'redrive'
    ? { verb: 'dead-letters redrive', selection, dryRun: given['dry-run'] ?? false, json }
    : { verb: 'dead-letters purge', selection, yes: given.yes ?? false, json };
}

/** Never all for want of words: `--all` has to be said. */
function selectionOf(
  verb: string,
  ids: string[],
  filter: LetterFilter,
  given: Options,
): Selection | { fault: string } {
  const isFiltered = filterOptions.some((name) => name !== 'limit' && given[name] !== undefined);
  const ways = [ids.length > 0, isFiltered, given.all ?? false].filter(Boolean).length;
  if (ways !== 1) return { fault: `dead-letters ${verb} takes ids, or filters, or --all: one of the three` };
  if (ids.length > 0) {
    return given.limit === undefined
      ? { ids: [...new Set(ids)] }
      : { fault: '--limit goes with filters and --all' };
  }
  const limit = limitOf(given, { fallback: Infinity, max: Number.MAX_SAFE_INTEGER });
  return typeof limit === 'number' ? { filter, limit } : limit;
}

function filterOf({
  topic,
  reason,
  key,
  org: orgId,
  since,
  until,
}: Options): LetterFilter | { fault: string } {
  const isReason = (word: string): word is Rejection['reason'] => Object.hasOwn(rejectionReasons, word);
  if (reason !== undefined && !isReason(reason)) {
    return { fault: `--reason takes one of ${Object.keys(rejectionReasons).join(', ')}` };
  }
  if (orgId !== undefined && !/^org_./.test(orgId))
    return { fault: '--org takes the id of an organization, org_…' };
  const instants: { since?: Date; until?: Date } = {};
  for (const [name, text] of Object.entries({ since, until })) {
    if (text === undefined) continue;
    const instant = parseInstant(text);
    if (!instant) return { fault: `--${name} takes an instant such as 2026-01-31T09:00:00Z` };
    instants[name as 'since' | 'until'] = instant;
  }
  return {
    ...(topic !== undefined && { topic }),
    ...(reason !== undefined && { reason }),
    ...(key !== undefined && { key }),
    ...(orgId !== undefined && { orgId }),
    ...instants,
  };
}

function limitOf(
  { limit }: Options,
  { fallback, max }: { fallback: number; max: number },
): number | { fault: string } {
  if (limit === undefined) return fallback;
  const count = Number(limit);
  if (/^\d{1,15}$/.test(limit) && count >= 1 && count <= max) return count;
  return {
    fault: `--limit takes a whole number of 1 or more${max === listLimit.max ? `, ${max} at most` : ''}`,
  };
}
