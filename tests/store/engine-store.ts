import { mongoStore } from '../../services/projector/materialize/mongo-store.ts';
import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import { openDatabases } from '../support/databases.ts';
import { useOpened } from '../support/use-opened.ts';

/** Opens the engine's store on a new database with indexes, and an empty control database. */
export async function openEngineStore() {
  const { mongo, database, control, close } = await openDatabases();
  await ensureIndexes(database);
  return {
    store: mongoStore(database),
    mongo,
    database,
    control,
    close,
    find: (kind: Kind, id: string) => collectionOf<StoredDocument>(database, kind).findOne({ _id: id }),
  };
}

/** Opens the engine's store for the tests of a `describe`; with `each`, a new one for each test. */
export const useEngineStore = (options?: { each: boolean }) => useOpened(openEngineStore, options);
