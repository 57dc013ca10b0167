import type { Document } from 'mongodb';
import type { StoreReader } from '../store/reader.ts';
import { rangeAfter, type RangeQuery } from './key-range.ts';
import { itemsOfSize } from '../store/read-reply.ts';
import { readPage } from './page-query.ts';

type BatchOptions = {
  /** The fields that the response contains, and no more. */
  projection: Document;
  /** The maximum of documents in one reply of the store; this limits the memory that a range takes. */
  batchSize: number;
  /** Documents of the range that were read before, if any: the first batch is as if its documents had their size. */
  before?: { items: number; bytes: number };
};

/**
 * Reads every document of a range in order, batch by batch. Each batch is a query of its own that starts after the last
 * key. So a slow client holds no cursor open, and no time limit runs while it reads.
 */
export async function* readRange<T extends Document>(
  store: StoreReader,
  query: RangeQuery,
  { projection, batchSize, before = { items: 0, bytes: 0 } }: BatchOptions,
): AsyncGenerator<T[], void> {
  let { range } = query;
  let limit = itemsOfSize(batchSize, before);
  for (;;) {
    const page = await readPage<T>(store, { ...query, range, limit, projection });
    const release = store.hold(page.bytes);
    yield page.items;
    release();
    if (page.nextKey === null) return;
    range = rangeAfter(range, query.direction, page.nextKey);
    // A page of large documents is cut: the store would send the rest of each batch for nothing.
    limit = itemsOfSize(batchSize, { items: page.items.length, bytes: page.bytes });
  }
}
