import type { Db, Filter } from 'mongodb';
import { describeOffsets } from '../../../shared/control/offsets.ts';
import type { Rejection } from '../../../shared/control/rejections.ts';
import { changeTallies, readTallies } from '../../../shared/control/tallies.ts';
import {
  entryIdOf,
  offsetsOf,
  type OpenEntry,
  openTally,
  purgeOffsets,
  type Tally,
  type TallyEntry,
} from '../../../shared/control/tally.ts';
import { parsePartitionKey } from '../../../shared/control/topic-partition.ts';
import { recordTime } from '../../../shared/documents/instant.ts';
import type { Selection } from './selection.ts';

/** Counted dead letters of a partition with the same reason and detail. Instants are ISO 8601. */
export type CountedDeadLetters = {
  /** `<topic>/<partition>/counted@<hash of reason and detail>` */
  id: string;
  topic: string;
  partition: number;
  reason: Rejection['reason'];
  detail: string;
  count: number;
  /** The first and the last offset, and the earliest and the latest time of the records; null if it is not valid. */
  firstOffset: number;
  lastOffset: number;
  recordsFrom: string | null;
  recordsTo: string | null;
  /** When the first record was counted, and when the last one. */
  firstAt: string;
  lastAt: string;
  /** The generations that lack some of the records. */
  generations: number[];
  /** `purge` if no release can apply the records. */
  next: 'redrive' | 'purge';
};

/** No release can apply a record refused for one of these reasons. A later one may accept records refused otherwise. */
export const hopelessReasons: ReadonlySet<string> = new Set<Rejection['reason']>([
  'not_json',
  'key_mismatch',
]);

const countedId = /^[^/]+\/\d+\/counted@[0-9a-f]{12}$/;

export const isCountedId = (id: string): boolean => countedId.test(id);

/** The partition that the id of counted dead letters names. */
const partitionOf = (id: string) => parsePartitionKey(id.slice(0, id.lastIndexOf('/')));

type SomeEntry = Pick<TallyEntry, 'reason' | 'detail' | 'lastAt'>;

/**
 * The tallies that a selection may select entries of; null if it selects none. Offsets have no key and no organization.
 */
function tallyFilter(selection: Selection): Filter<Tally> | null {
  if ('ids' in selection) {
    const wanted = selection.ids.filter(isCountedId).map(partitionOf);
    return wanted.length > 0 ? { $or: wanted } : null;
  }
  const { topic, reason, key, org } = selection.filter;
  if (key !== undefined || org !== undefined) return null;
  return {
    'entries.0': { $exists: true },
    ...(topic !== undefined && { topic }),
    ...(reason !== undefined && { 'entries.reason': reason }),
  };
}

function isSelected(
  selection: Selection,
  tally: Pick<Tally, 'topic' | 'partition'>,
  entry: SomeEntry,
): boolean {
  if ('ids' in selection) return selection.ids.includes(entryIdOf(tally, entry));
  const { reason, since, until } = selection.filter;
  if (reason !== undefined && entry.reason !== reason) return false;
  return (!since || entry.lastAt >= since) && (!until || entry.lastAt < until);
}

/** The selected entries, each with its tally, in the order of the log. */
export async function selectCounted(control: Db, selection: Selection) {
  const filter = tallyFilter(selection);
  const tallies = filter ? await readTallies(control, filter) : [];
  return tallies.flatMap((tally) =>
    tally.entries.filter((entry) => isSelected(selection, tally, entry)).map((entry) => ({ tally, entry })),
  );
}

/** The number of selected records that are counted, and the ids of their entries. */
export async function countCounted(control: Db, selection: Selection) {
  const found = await selectCounted(control, selection);
  const count = found.reduce((sum, { entry }) => sum + entry.count, 0);
  return { count, ids: new Set(found.map(({ tally, entry }) => entryIdOf(tally, entry))) };
}

/** Adds the entries of the tallies of a partition up, the most records first. */
export async function listCounted(control: Db, selection: Selection): Promise<CountedDeadLetters[]> {
  const found = await selectCounted(control, selection);
  const byId = Map.groupBy(found, ({ tally, entry }) => entryIdOf(tally, entry));
  return [...byId].map(([id, parts]) => sumOf(id, parts)).toSorted((a, b) => b.count - a.count);
}

type Part = { tally: Tally; entry: TallyEntry };

function sumOf(id: string, parts: Part[]): CountedDeadLetters {
  const [first] = parts;
  if (!first) throw new Error(`no tally has the entry ${id}`);
  const { tally, entry } = first;
  const all = <Field extends keyof TallyEntry>(field: Field) => parts.map((part) => part.entry[field]);
  const iso = (ms: number) => new Date(ms).toISOString();
  const generations = parts.flatMap((part) => part.entry.lacking.map(({ generation }) => generation));
  return {
    id,
    topic: tally.topic,
    partition: tally.partition,
    reason: entry.reason,
    detail: entry.detail,
    count: all('count').reduce((sum, count) => sum + count, 0),
    firstOffset: Math.min(...all('first')),
    lastOffset: Math.max(...all('last')),
    recordsFrom: recordTime(Math.min(...all('earliestMs'))),
    recordsTo: recordTime(Math.max(...all('latestMs'))),
    firstAt: iso(Math.min(...all('firstAt').map(Number))),
    lastAt: iso(Math.max(...all('lastAt').map(Number))),
    generations: [...new Set(generations)].toSorted((a, b) => a - b),
    next: hopelessReasons.has(entry.reason) ? 'purge' : 'redrive',
  };
}

/** Counted dead letters by their id, with their offsets as text. Throws an error if there are none. */
export async function readCounted(
  control: Db,
  id: string,
): Promise<CountedDeadLetters & { offsets: string }> {
  const selection = { ids: [id] };
  const parts = await selectCounted(control, selection);
  if (parts.length === 0)
    throw new Error(
      `there are no counted dead letters ${id}: they were purged, or their records have been applied`,
    );
  const offsets = parts.flatMap(({ tally, entry }) => offsetsOf(openedEntry(tally, entry)));
  return { ...sumOf(id, parts), offsets: describeOffsets(offsets) };
}

const openedEntry = (tally: Tally, entry: TallyEntry): Pick<OpenEntry, 'lacking'> => {
  const [opened] = openTally({ ...tally, entries: [entry] }).entries;
  return opened ?? { lacking: new Map() };
};

/** The offsets of an entry, and the generations that lack each. */
export function lackedOffsets({ tally, entry }: Part): { offset: number; generations: number[] }[] {
  const { lacking } = openedEntry(tally, entry);
  return offsetsOf({ lacking }).map((offset) => ({
    offset,
    generations: [...lacking].flatMap(([number, offsets]) => (offsets.has(offset) ? [number] : [])),
  }));
}

/** Purges up to `limit` of the selected counted records; their tally keeps the offsets as purged. Returns how many. */
export async function purgeCounted(
  control: Db,
  selection: Selection,
  limit: number,
  purge: { at: Date; by: string },
): Promise<number> {
  let purged = 0;
  for (const part of await selectCounted(control, selection)) {
    const offsets = lackedOffsets(part)
      .slice(0, limit - purged)
      .map(({ offset }) => offset);
    if (offsets.length === 0) return purged;
    await changeTallies(control, [part.tally._id], (tally) => purgeOffsets(tally, offsets, purge));
    purged += offsets.length;
  }
  return purged;
}

export const countedRows = (
  entry: CountedDeadLetters & { offsets: string },
): [name: string, value: string][] => [
  ['records', `${entry.topic}/${entry.partition}, counted, without their bytes`],
  ['count', String(entry.count)],
  ['offsets', entry.offsets],
  ['timestamps', `${entry.recordsFrom ?? 'not valid'} to ${entry.recordsTo ?? 'not valid'}`],
  ['reason', entry.reason],
  ['detail', entry.detail],
  ['stored', `first ${entry.firstAt}, last ${entry.lastAt}`],
  ['generations', entry.generations.join(', ')],
];
