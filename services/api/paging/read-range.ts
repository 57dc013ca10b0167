import type { Document } from 'mongodb';
import { itemsOfSize } from '../store/read-reply.ts';
import type { StoreReader } from '../store/reader.ts';
import type { RangeQuery } from './key-range.ts';
import { readPage } from './page-query.ts';

/**
 * The documents before a range that the API has read already: `key` is their last sort key. `items` and `bytes` give
 * their average size, by which the first batch of the range is limited.
 */
export type AlreadyRead = { key: string | null; items: number; bytes: number };

type BatchOptions = {
  /** Only the fields that the response contains. */
  projection: Document;
  /** The maximum number of documents in one reply of MongoDB, which limits the memory that a range takes. */
  batchSize: number;
  alreadyRead: AlreadyRead;
};

/**
 * Reads every document of a range in order, batch by batch. Each batch is a query of its own that starts after the last
 * key. So a slow client holds no cursor open, and no time limit runs while it reads.
 */
export async function* readRange<T extends Document>(
  store: StoreReader,
  queryAfter: (key: string | null) => RangeQuery,
  { projection, batchSize, alreadyRead }: BatchOptions,
): AsyncGenerator<T[], void> {
  let { key } = alreadyRead;
  let limit = itemsOfSize(batchSize, alreadyRead);
  for (;;) {
    const page = await readPage<T>(store, { ...queryAfter(key), limit, projection });
    const release = store.hold(page.bytes);
    yield page.items;
    release();
    if (page.nextKey === null) return;
    key = page.nextKey;
    // `readPage` ends a page of large documents early, and would read the rest of each reply for nothing.
    limit = itemsOfSize(batchSize, { items: page.items.length, bytes: page.bytes });
  }
}
