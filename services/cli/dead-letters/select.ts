import { Binary, type Db, type Filter } from 'mongodb';
import { kinds } from '../../../shared/documents/document.ts';
import { deadLettersOf, type DeadLetter } from '../../projector/dead-letters/collection.ts';
import { splitBySize } from '../../../shared/runtime/split-by-size.ts';
import { topicOf } from '../../projector/events/topics.ts';
import { UsageError } from '../usage-error.ts';
import type { DeadLetterFilter, Selection } from './command.ts';

export type StoredDeadLettersDeps = { control: Db; prefix: string };

/** The store's form of a filter; a topic that the bus does not have is a fault of the words. */
export function storeFilter(
  { topic, reason, key, orgId, since, until }: DeadLetterFilter,
  prefix: string,
): Filter<DeadLetter> {
  const topics = kinds.map((kind) => topicOf(kind, prefix));
  if (topic !== undefined && !topics.includes(topic)) {
    throw new UsageError(`--topic: the bus has no topic ${topic}; it has ${topics.join(', ')}`);
  }
  const lastAt = { ...(since && { $gte: since }), ...(until && { $lt: until }) };
  return {
    ...(topic !== undefined && { topic }),
    ...(reason !== undefined && { reason }),
    ...(key !== undefined && { key: new Binary(Buffer.from(key)) }),
    ...(orgId !== undefined && { orgId }),
    ...(since || until ? { lastAt } : {}),
  };
}

/** Letters and bytes that are worked on at a time; one larger letter is a chunk of its own. */
const deadLettersPerChunk = 200;
const bytesPerChunk = 4 * 1024 * 1024;

/**
 * The ids of the letters selected, each once, in chunks of bounded size, in the order of their ids; those that come in
 * behind are met, those that stay where they are do not come again.
 */
export async function* selected(
  { control, prefix }: StoredDeadLettersDeps,
  selection: Selection,
): AsyncGenerator<string[]> {
  const isById = 'ids' in selection;
  const filter = isById ? { _id: { $in: selection.ids } } : storeFilter(selection.filter, prefix);
  let left = isById ? selection.ids.length : selection.limit;
  let after = '';
  while (left > 0) {
    const found = await deadLettersOf(control)
      .find({ $and: [filter, { _id: { $gt: after } }] })
      .project<Pick<DeadLetter, '_id' | 'bytes'>>({ bytes: 1 })
      .sort({ _id: 1 })
      .limit(Math.min(left, deadLettersPerChunk))
      .toArray();
    const last = found.at(-1);
    if (!last) return;
    for (const some of splitBySize(found, ({ bytes }) => bytes, bytesPerChunk))
      yield some.map(({ _id }) => _id);
    after = last._id;
    left -= found.length;
  }
}

/** How many letters are selected. */
export async function countSelected(
  { control, prefix }: StoredDeadLettersDeps,
  selection: Selection,
): Promise<number> {
  const filter = 'ids' in selection ? { _id: { $in: selection.ids } } : storeFilter(selection.filter, prefix);
  const count = await deadLettersOf(control).countDocuments(filter);
  return 'ids' in selection ? count : Math.min(count, selection.limit);
}
