import type { Db } from 'mongodb';
import type { Kind } from '../../../shared/documents/resources.ts';
import { collectionOf } from '../../../shared/store/connection.ts';

/**
 * Reads the next ids of a kind, after `after` and up to `last`, in ascending order. They fit into one reply of MongoDB,
 * so no cursor stays open.
 */
export async function readIdBatch(
  database: Db,
  kind: Kind,
  { after, last }: { after: string; last: string },
  limit: number,
): Promise<string[]> {
  const found = await collectionOf<{ _id: string }>(database, kind)
    .find({ _id: { $gt: after, $lte: last } }, { sort: { _id: 1 }, limit, batchSize: limit + 1 })
    .project<{ _id: string }>({ _id: 1 })
    .toArray();
  return found.map(({ _id }) => _id);
}

/** Reads the last id of a kind; '' without documents. */
export async function readLastId(database: Db, kind: Kind): Promise<string> {
  const found = await collectionOf<{ _id: string }>(database, kind).findOne(
    {},
    { sort: { _id: -1 }, projection: { _id: 1 } },
  );
  return found?._id ?? '';
}
