import { Binary, type Db, type Filter } from 'mongodb';
import { type DeadLetter, deadLettersOf, purgeDeadLetters } from '../../../shared/control/dead-letters.ts';
import { splitBySize } from '../../../shared/runtime/split-by-size.ts';
import { countCounted, purgeCounted } from './counted.ts';
import type { DeadLetterFilter, Selection } from './selection.ts';

export function storeFilter({ topic, reason, key, org, since, until }: DeadLetterFilter): Filter<DeadLetter> {
  const lastAt: { $gte?: Date; $lt?: Date } = {};
  if (since) lastAt.$gte = since;
  if (until) lastAt.$lt = until;
  const filter: Record<string, unknown> = {};
  if (topic !== undefined) filter.topic = topic;
  if (reason !== undefined) filter.reason = reason;
  if (key !== undefined) filter.key = new Binary(Buffer.from(key));
  if (org !== undefined) filter.orgId = org;
  if (since || until) filter.lastAt = lastAt;
  return filter;
}

export const selectionFilter = (selection: Selection): Filter<DeadLetter> =>
  'ids' in selection ? { _id: { $in: selection.ids } } : storeFilter(selection.filter);

/** Limits of one chunk. A single larger dead letter is a chunk of its own. */
const deadLettersPerChunk = 200;
export const bytesPerChunk = 4 * 1024 * 1024;

/**
 * Yields the ids of the selected dead letters in chunks of bounded size, in the order of the ids, each id once.
 * Includes dead letters that are stored meanwhile with a later id.
 */
export async function* selected(control: Db, selection: Selection): AsyncGenerator<string[]> {
  const filter = selectionFilter(selection);
  let remaining = 'ids' in selection ? selection.ids.length : selection.limit;
  let after = '';
  while (remaining > 0) {
    const found = await deadLettersOf(control)
      .find({ $and: [filter, { _id: { $gt: after } }] })
      .project<Pick<DeadLetter, '_id' | 'bytes'>>({ bytes: 1 })
      .sort({ _id: 1 })
      .limit(Math.min(remaining, deadLettersPerChunk))
      .toArray();
    const last = found.at(-1);
    if (!last) return;
    for (const chunk of splitBySize(found, ({ bytes }) => bytes, bytesPerChunk))
      yield chunk.map(({ _id }) => _id);
    after = last._id;
    remaining -= found.length;
  }
}

export async function countSelected(control: Db, selection: Selection): Promise<number> {
  const stored = await deadLettersOf(control).countDocuments(selectionFilter(selection));
  const count = stored + (await countCounted(control, selection)).count;
  return 'ids' in selection ? count : Math.min(count, selection.limit);
}

/** The number of ids that name dead letters, or counted ones. */
export async function countFound(control: Db, ids: string[]): Promise<number> {
  const stored = await deadLettersOf(control).countDocuments({ _id: { $in: ids } });
  return stored + (await countCounted(control, { ids })).ids.size;
}

/** Purges the selected dead letters; each leaves a mark, or its offset in its tally. Returns their number. */
export async function purgeSelected(control: Db, selection: Selection, purge: { at: Date; by: string }) {
  let purged = 0;
  for await (const ids of selected(control, selection)) purged += await purgeDeadLetters(control, ids, purge);
  const limit = 'ids' in selection ? Infinity : selection.limit - purged;
  return purged + (await purgeCounted(control, selection, limit, purge));
}
