import { Binary, type Db, type Filter } from 'mongodb';
import { kinds } from '../../../shared/documents/document.ts';
import { deadLettersOf, type DeadLetter } from '../../projector/dead-letters/collection.ts';
import { splitBySize } from '../../../shared/runtime/split-by-size.ts';
import { topicOf } from '../../projector/events/topics.ts';
import { UsageError } from '../usage-error.ts';
import type { DeadLetterFilter, Selection } from './command.ts';

export type StoredDeadLettersDeps = { control: Db; prefix: string };

/** Translates a filter for MongoDB. An unknown topic is a usage error. */
export function storeFilter(
  { topic, reason, key, org, since, until }: DeadLetterFilter,
  prefix: string,
): Filter<DeadLetter> {
  const topics = kinds.map((kind) => topicOf(kind, prefix));
  if (topic !== undefined && !topics.includes(topic)) {
    throw new UsageError(`--topic: unknown topic ${topic}; use one of ${topics.join(', ')}`);
  }
  const lastAt = { ...(since && { $gte: since }), ...(until && { $lt: until }) };
  return {
    ...(topic !== undefined && { topic }),
    ...(reason !== undefined && { reason }),
    ...(key !== undefined && { key: new Binary(Buffer.from(key)) }),
    ...(org !== undefined && { orgId: org }),
    ...(since || until ? { lastAt } : {}),
  };
}

const selectionFilter = (selection: Selection, prefix: string): Filter<DeadLetter> =>
  'ids' in selection ? { _id: { $in: selection.ids } } : storeFilter(selection.filter, prefix);

/** Limits of one chunk. A single larger dead letter is a chunk of its own. */
const deadLettersPerChunk = 200;
const bytesPerChunk = 4 * 1024 * 1024;

/**
 * Yields the ids of the selected dead letters in chunks of bounded size, in the order of the ids, each id once. Includes
 * dead letters that are stored meanwhile with a later id.
 */
export async function* selected(
  { control, prefix }: StoredDeadLettersDeps,
  selection: Selection,
): AsyncGenerator<string[]> {
  const filter = selectionFilter(selection, prefix);
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

/** Counts the selected dead letters. */
export async function countSelected(
  { control, prefix }: StoredDeadLettersDeps,
  selection: Selection,
): Promise<number> {
  const count = await deadLettersOf(control).countDocuments(selectionFilter(selection, prefix));
  return 'ids' in selection ? count : Math.min(count, selection.limit);
}
