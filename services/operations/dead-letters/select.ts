import { Binary, type Db, type Filter } from 'mongodb';
import { splitBySize } from '../../../shared/runtime/split-by-size.ts';
import { deadLettersOf, purgeDeadLetters, type DeadLetter } from '../../../shared/control/dead-letters.ts';

/** Selects dead letters; an absent field matches all. `since` is inclusive, `until` is exclusive. */
export type DeadLetterFilter = {
  topic?: string | undefined;
  reason?: string | undefined;
  key?: string | undefined;
  org?: string | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
};

/** Dead letters by id, or at most `limit` by filter; an empty filter matches all. */
export type Selection = { ids: string[] } | { filter: DeadLetterFilter; limit: number };

export const isFiltered = (filter: DeadLetterFilter): boolean =>
  Object.values(filter).some((value) => value !== undefined);

export function storeFilter({ topic, reason, key, org, since, until }: DeadLetterFilter): Filter<DeadLetter> {
  const lastAt = { ...(since && { $gte: since }), ...(until && { $lt: until }) };
  return {
    ...(topic !== undefined && { topic }),
    ...(reason !== undefined && { reason }),
    ...(key !== undefined && { key: new Binary(Buffer.from(key)) }),
    ...(org !== undefined && { orgId: org }),
    ...(since || until ? { lastAt } : {}),
  } as Filter<DeadLetter>;
}

const selectionFilter = (selection: Selection): Filter<DeadLetter> =>
  'ids' in selection ? { _id: { $in: selection.ids } } : storeFilter(selection.filter);

/** Limits of one chunk. A single larger dead letter is a chunk of its own. */
const deadLettersPerChunk = 200;
export const bytesPerChunk = 4 * 1024 * 1024;

/**
 * Yields the ids of the selected dead letters in chunks of bounded size, in the order of the ids, each id once. Includes
 * dead letters that are stored meanwhile with a later id.
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
  const count = await deadLettersOf(control).countDocuments(selectionFilter(selection));
  return 'ids' in selection ? count : Math.min(count, selection.limit);
}

/** Purges the selected dead letters; each leaves a mark. Returns their number. */
export async function purgeSelected(control: Db, selection: Selection, purge: { at: Date; by: string }) {
  let purged = 0;
  for await (const ids of selected(control, selection)) purged += await purgeDeadLetters(control, ids, purge);
  return purged;
}
