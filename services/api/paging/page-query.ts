import type { Db, Document } from 'mongodb';
import { resources } from '../../../shared/documents/resources.ts';
import { readDeadline, readTimeoutMs } from '../store/deadline.ts';
import type { RangeQuery } from './range-query.ts';

export type PageQuery = RangeQuery & {
  /** Items on the page; one more is read to know whether others follow. */
  limit: number;
};

export type Page<T> = { items: T[]; hasMore: boolean };

/** What a page reads of each document: `refs` are of no use to readers. */
const projection = { own: 1, joined: 1, byCreated: 1, byUpdated: 1 };

export const pageCursor = <T extends Document>(
  database: Db,
  { kind, filter, sort, hint, limit }: PageQuery,
) =>
  database
    .collection(resources[kind].collection)
    .find(filter, {
      ...{ sort, hint, limit: limit + 1, batchSize: limit + 2 },
      ...{ maxTimeMS: readTimeoutMs, signal: readDeadline() },
    })
    .project<T>(projection);

/** Reads one reply of the store, which is 16 MB at most: a page of so large items ends there, and others follow. */
export async function readPage<T extends Document>(database: Db, query: PageQuery): Promise<Page<T>> {
  await using cursor = pageCursor<T>(database, query);
  await cursor.hasNext();
  const found = cursor.readBufferedDocuments();
  const isCut = cursor.id !== undefined && !cursor.id.isZero();
  return { items: found.slice(0, query.limit), hasMore: isCut || found.length > query.limit };
}
