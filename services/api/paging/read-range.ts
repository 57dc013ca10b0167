import type { Document } from 'mongodb';
import type { StoreReader } from '../store/reader.ts';
import { rangeAfter, type RangeQuery } from './key-range.ts';
import { readPage } from './page-query.ts';

type BatchOptions = {
  /** The fields that the response contains, and no more. */
  projection: Document;
  /** Documents in one reply of the store; this limits the memory that a range takes. */
  batchSize: number;
};

/**
 * Reads every document of a range in order, batch by batch. Each batch is a query of its own that starts after the last
 * key. So a slow client holds no cursor open, and no time limit runs while it reads.
 */
export async function* readRange<T extends Document>(
  store: StoreReader,
  query: RangeQuery,
  { projection, batchSize }: BatchOptions,
): AsyncGenerator<T[], void> {
  let { range } = query;
  for (;;) {
    const page = await readPage<T>(store, { ...query, range, limit: batchSize, projection });
    const release = store.hold(page.bytes);
    yield page.items;
    release();
    if (page.nextKey === null) return;
    range = rangeAfter(range, query.direction, page.nextKey);
  }
}
