import { kinds } from '../../shared/documents/resources.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import { openDatabases } from '../support/databases.ts';
import { eventually, notYet } from '../support/eventually.ts';
import { useOpened } from '../support/use-opened.ts';

const opened = useOpened(openDatabases);

/** This test is a long one because a store looks for expired documents only once a minute. */
test('the store removes exactly the expired tombstone documents of every kind', async () => {
  const { database } = opened;
  await ensureIndexes(database);
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);
  const documents = [
    { _id: 'expired', expiresAt: inDays(-1) },
    { _id: 'kept', expiresAt: inDays(3) },
    { _id: 'live' },
  ];
  for (const kind of kinds) await collectionOf(database, kind).insertMany(documents as never[]);
  const remainingIds = async () => {
    const idsByKind = await Promise.all(kinds.map((kind) => collectionOf(database, kind).distinct('_id')));
    return idsByKind.map((ids) => ids.map(String).sort().join());
  };
  await eventually(async () => {
    const remaining = await remainingIds();
    return remaining.every((ids) => ids === 'kept,live') || notYet(remaining);
  });
});
