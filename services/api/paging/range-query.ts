import type { Document, Filter } from 'mongodb';
import type { Kind } from '../../../shared/documents/document.ts';
import type { StoreReader } from '../store/reader.ts';
import { goingOn, type Direction, type KeyRange } from './key-range.ts';
import { readPage } from './page-query.ts';

/** A sort key, by which indexes order documents. */
export type SortField = 'byCreated' | 'byUpdated';

/** An index range as the store is asked for it; plain data, so that tests can have the same query explained. */
export type RangeQuery = {
  kind: Kind;
  /** What the fields before the sort key in the index equal. */
  within: Filter<Document>;
  field: SortField;
  direction: Direction;
  range: KeyRange;
  /** Name of the declared index that holds the documents as one range (or one a status). */
  hint: string;
};

type Reading = {
  /** The fields that readers see, and no more. */
  projection: Document;
  /** Documents in one reply of the store, which bounds the memory that a range takes. */
  batchSize: number;
};

/**
 * Every document of a range in its order, batch by batch. Each batch is a query of its own that goes on behind the
 * last key, so a client may take its time: no cursor is open meanwhile, and no limit of time runs.
 */
export async function* readRange<T extends Document>(
  store: StoreReader,
  query: RangeQuery,
  { projection, batchSize }: Reading,
): AsyncGenerator<T[], void> {
  let { range } = query;
  for (;;) {
    const page = await readPage<T>(store, { ...query, range, limit: batchSize, projection });
    const drop = store.hold(page.bytes);
    yield page.items;
    drop();
    if (page.nextKey === null) return;
    range = goingOn(range, query.direction, page.nextKey);
  }
}
