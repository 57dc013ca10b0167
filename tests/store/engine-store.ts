import { mongoStore } from '../../services/projector/materialize/mongo-store.ts';
import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import type { Kind } from '../../shared/documents/resources.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import { openDatabases } from '../support/databases.ts';
import { useOpened } from '../support/use-opened.ts';

/** The engine's store on a new database with its indexes, and the control database beside it, empty. */
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

/** An engine's store for the tests of a `describe`. */
export const useEngineStore = (options?: { each: boolean }) => useOpened(openEngineStore, options);
