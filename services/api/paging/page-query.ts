import { BSON, type Db, type Document, type Filter } from 'mongodb';
import { resources } from '../../../shared/documents/resources.ts';
import type { ReadDataOptions } from '../store/read-data.ts';
import { type FindCommand, itemsBytesMax, readReply } from '../store/read-reply.ts';
import type { StoreReader } from '../store/reader.ts';
import { type RangeQuery, rangeUpTo } from './key-range.ts';

/** A page of an organization's list after a sort key; the first page for null. */
export type PageRequest = { orgId: string; limit: number; after: string | null };

export type PageQuery = RangeQuery & {
  /** The maximum of items on the page. The query reads one more, to know whether others follow. */
  limit: number;
  /**
   * A condition that does not narrow the index range, so MongoDB also examines entries that fail it. A page with a
   * filter ends after `scanEntriesMax` entries. Without a filter MongoDB examines at most `limit + 2` of each range:
   * the items, one more, and the entry at which it seeks the range.
   */
  filter?: Filter<Document> | undefined;
  /** Fields to read besides the sort key. */
  projection?: Document;
};

export type Page<T> = {
  items: T[];
  /** The sort key after which the next page starts; null on the last page. */
  nextKey: string | null;
  /** Size of the items as BSON. */
  bytes: number;
};

/** The fields of a document that presenters need. */
const presentedFields = { state: 1, joined: 1 };

/** The number of ranges that MongoDB merges: one for each combination of the values of the filters. */
function countRanges(equals: RangeQuery['equals']): number {
  let ranges = 1;
  for (const value of Object.values(equals)) {
    if (typeof value !== 'string') ranges *= value.$in.length;
  }
  return ranges;
}

/**
 * The entries of each scan. A filtered page scans its range twice, once for its end and once for its items. In each
 * scan, the seek to the start of each range examines one more entry.
 */
const entriesPerScan = (scanEntriesMax: number, { equals }: RangeQuery) =>
  Math.floor(scanEntriesMax / 2) - countRanges(equals);

/**
 * Throws unless the conditions and the sort key are the first fields of the index. Otherwise the page would not be one
 * range: MongoDB would read documents that it leaves out.
 */
function requireOneRange({ kind, equals, field, hint }: RangeQuery): void {
  const { collection, indexes } = resources[kind];
  const indexed = Object.keys(indexes.find(({ name }) => name === hint)?.key ?? {});
  const conditions = Object.keys(equals);
  const first = indexed.slice(0, conditions.length);
  const isOneRange = conditions.every((name) => first.includes(name));
  if (isOneRange && indexed[conditions.length] === field) return;
  throw new Error(
    `the index ${hint} of ${collection} (${indexed.join(', ')}) does not begin with ${conditions.join(', ')}, then ${field}`,
  );
}

function createFind(query: RangeQuery, filter: Filter<Document>, projection: Document): FindCommand {
  requireOneRange(query);
  const { kind, equals, field, direction, range, hint } = query;
  return {
    find: resources[kind].collection,
    filter: { ...equals, [field]: range, ...filter },
    sort: { [field]: direction === 'ascending' ? 1 : -1 },
    projection: { ...projection, [field]: 1 },
    hint,
  };
}

/** The `find` command of a page. */
export function findPage(query: PageQuery): FindCommand {
  const { filter = {}, limit, projection = presentedFields } = query;
  const find = createFind(query, filter, projection);
  // The batch is larger than the limit. Otherwise MongoDB would leave the cursor open after the last item.
  return { ...find, limit: limit + 1, batchSize: limit + 2 };
}

/** Finds, in the index only, the last entry that a page may examine, and the entry after it. */
export const findScanEnd = (query: PageQuery, scanEntriesMax: number): FindCommand => ({
  ...createFind(query, {}, { _id: 0 }),
  skip: entriesPerScan(scanEntriesMax, query) - 1,
  limit: 2,
});

/**
 * Reads a page in one reply of MongoDB. The page may have fewer items than `limit`, even none, although others follow:
 * large items and the limit of a scan end it early. Throws if the page is empty because its collection is gone.
 */
export async function readPage<T extends Document>(store: StoreReader, query: PageQuery): Promise<Page<T>> {
  const scanEnd = query.filter ? await readScanEnd(store, query) : null;
  const range = scanEnd === null ? query.range : rangeUpTo(query.range, query.direction, scanEnd);
  const { kind, limit } = query;
  const { items, bytes, isTruncated } = await store.read({ kind, items: limit + 1 }, (options) =>
    readItems<T>(store.database, { ...query, range }, options),
  );
  if (items.length === 0) await store.requireCollections();
  const lastKey = items.at(-1)?.[query.field] as string | undefined;
  if (isTruncated && lastKey !== undefined) return { items, bytes, nextKey: lastKey };
  // The scan limit has ended the page, or this is the last page, which has no `scanEnd`.
  return { items, bytes, nextKey: scanEnd };
}

/** Returns the sort key of the last entry that may be examined; null if the range does not exceed the limit. */
async function readScanEnd(store: StoreReader, query: PageQuery): Promise<string | null> {
  const command = findScanEnd(query, store.scanEntriesMax);
  const reply = await store.readKeys({ kind: query.kind, items: 1 }, (options) =>
    readReply(store.database, command, options),
  );
  const [last, next] = reply.raws;
  return last && next ? (BSON.deserialize(last)[query.field] as string) : null;
}

async function readItems<T extends Document>(database: Db, query: PageQuery, options: ReadDataOptions) {
  const reply = await readReply(database, findPage(query), options);
  const items: T[] = [];
  let bytes = 0;
  for (const raw of reply.raws) {
    if (items.length === query.limit || (items.length > 0 && bytes + raw.length > itemsBytesMax)) break;
    items.push(BSON.deserialize(raw) as T);
    bytes += raw.length;
  }
  return {
    items,
    bytes,
    isTruncated: reply.mayBeCut || items.length < reply.raws.length,
    replyItems: reply.raws.length,
    replyBytes: reply.bytes,
  };
}
