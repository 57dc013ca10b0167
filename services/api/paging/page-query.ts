import { BSON, type Db, type Document, type Filter, type FindOptions } from 'mongodb';
import { resources } from '../../../shared/documents/resources.ts';
import { readOptions } from '../store/deadline.ts';
import type { StoreReader } from '../store/reader.ts';
import { upTo } from './key-range.ts';
import type { RangeQuery } from './range-query.ts';

export type PageQuery = RangeQuery & {
  /** Items on the page; one more is read to know whether others follow. */
  limit: number;
  /**
   * A condition that the index does not narrow the range by: entries that fail it are looked at all the same. Then the
   * page ends where the store has looked at as many as it may.
   */
  filter?: Filter<Document> | undefined;
  /** Fields that are read besides the sort key. */
  projection?: Document;
};

export type Page<T> = {
  items: T[];
  /** The sort key behind which the next page begins; null on the last page. */
  nextKey: string | null;
  /** What the items take in the store's encoding. */
  bytes: number;
};

/** A page ends before the item that would make it larger than this, in bytes of the store, but has one at the least. */
export const pageBytesMax = 2 * 1_024 * 1_024;

/** What a page reads of each document: `refs` are of no use to readers. */
const shown = { state: 1, joined: 1 };

/** Room for the seeks that a scan begins with, one for each status. */
const seeksMax = 16;

/** A page looks at its range twice: once to learn where to end, once for its items. */
const entriesOf = (scanEntriesMax: number) => Math.floor((scanEntriesMax - seeksMax) / 2);

const find = (
  database: Db,
  { kind, within, field, direction, range, hint }: RangeQuery,
  filter: Filter<Document>,
  options: FindOptions,
) =>
  database.collection(resources[kind].collection).find(
    { ...within, [field]: range, ...filter },
    {
      sort: { [field]: direction === 'ascending' ? 1 : -1 },
      ...{ hint, ...options },
    },
  );

export const pageCursor = (database: Db, query: PageQuery, options: FindOptions = {}) => {
  const { field, filter = {}, limit, projection = shown } = query;
  const size = { limit: limit + 1, batchSize: limit + 2 };
  return find(database, query, filter, { ...size, projection: { ...projection, [field]: 1 }, ...options });
};

/** Finds the last entry that a page may look at, and the one behind it, from the index alone. */
export const scanEndCursor = (
  database: Db,
  query: PageQuery,
  scanEntriesMax: number,
  options: FindOptions = {},
) => {
  const size = { skip: entriesOf(scanEntriesMax) - 1, limit: 2 };
  return find(database, query, {}, { ...size, projection: { _id: 0, [query.field]: 1 }, ...options });
};

/**
 * Reads a page by one reply of the store. It has fewer items than its limit, perhaps none, where they are large or
 * where the store has looked at as many entries as it may; then others may follow behind `nextKey`.
 */
export async function readPage<T extends Document>(store: StoreReader, query: PageQuery): Promise<Page<T>> {
  const scanEnd = query.filter ? await readScanEnd(store, query) : null;
  const range = scanEnd === null ? query.range : upTo(query.range, query.direction, scanEnd);
  const { kind, limit } = query;
  const { items, bytes, isCut } = await store.read({ kind, items: limit + 1 }, () =>
    readItems<T>(store.database, { ...query, range }),
  );
  const last = items.at(-1)?.[query.field] as string | undefined;
  return { items, bytes, nextKey: isCut && last !== undefined ? last : scanEnd };
}

/** The sort key of the last entry that may be looked at; null where the range has no more than that. */
async function readScanEnd(store: StoreReader, query: PageQuery): Promise<string | null> {
  const { database, scanEntriesMax } = store;
  const {
    keys: [last, next],
  } = await store.read({ kind: query.kind, items: 1 }, async () => {
    const keys = await scanEndCursor(database, query, scanEntriesMax, readOptions()).toArray();
    // Keys tell nothing of the size of documents.
    return { keys, replyItems: 0, replyBytes: 0 };
  });
  return last && next ? (last[query.field] as string) : null;
}

async function readItems<T extends Document>(database: Db, query: PageQuery) {
  await using cursor = pageCursor(database, query, { raw: true, ...readOptions() });
  await cursor.hasNext();
  const found = cursor.readBufferedDocuments() as unknown as Uint8Array[];
  const items: T[] = [];
  let bytes = 0;
  for (const each of found) {
    if (items.length === query.limit || (items.length > 0 && bytes + each.length > pageBytesMax)) break;
    items.push(BSON.deserialize(each) as T);
    bytes += each.length;
  }
  const isOpen = cursor.id !== undefined && !cursor.id.isZero();
  return {
    ...{ items, bytes, isCut: isOpen || items.length < found.length },
    ...{ replyItems: found.length, replyBytes: found.reduce((sum, { length }) => sum + length, 0) },
  };
}
