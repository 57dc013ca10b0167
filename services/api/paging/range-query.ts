import type { Db, Document, Filter } from 'mongodb';
import type { Kind } from '../../../shared/documents/document.ts';
import { resources } from '../../../shared/documents/resources.ts';
import { withDeadline } from '../store/deadline.ts';

/** An index range as the store is asked for it; plain data, so that tests can have the same query explained. */
export type RangeQuery = {
  kind: Kind;
  filter: Filter<Document>;
  sort: Record<string, 1 | -1>;
  /** Name of the declared index that holds the documents as one range (or one a status). */
  hint: string;
};

type Reading = {
  /** The fields that readers see, and no more. */
  projection: Document;
  /** Documents in one reply of the store, which bounds the memory that a range takes. */
  batchSize: number;
};

const closeTimeoutMs = 1_000;

/**
 * Every document of a range in its order, one reply of the store at a time, each under a deadline. Ending the
 * generator early closes the store's cursor.
 */
export async function* readRange<T extends Document>(
  database: Db,
  { kind, filter, sort, hint }: RangeQuery,
  { projection, batchSize }: Reading,
): AsyncGenerator<T[], void> {
  const cursor = database
    .collection(resources[kind].collection)
    .find(filter, { sort, hint, batchSize })
    .project<T>(projection);
  try {
    while (await withDeadline(cursor.hasNext())) yield cursor.readBufferedDocuments();
  } finally {
    // A store that is silent would not answer this either; it drops idle cursors by itself.
    await withDeadline(cursor.close(), closeTimeoutMs).catch(() => undefined);
  }
}
