import { randomBytes } from 'node:crypto';
import { MongoClient, type Db } from 'mongodb';
import { mongoStore } from '../../services/projector/materialize/mongo-store.ts';
import type { Store } from '../../services/projector/materialize/store.ts';
import { ensureIndexes } from '../../shared/runtime/indexes.ts';

/** The engine's store on a database of a test's own, with its indexes, on the server of the run. */
export type EngineStore = { store: Store; database: Db; close: () => Promise<void> };

export async function openEngineStore(): Promise<EngineStore> {
  const mongo = new MongoClient(process.env.MONGODB_URL ?? '');
  const database = mongo.db(`t${randomBytes(5).toString('hex')}_g1`);
  await ensureIndexes(database);
  return {
    store: mongoStore(database),
    database,
    close: async () => {
      await database.dropDatabase();
      await mongo.close();
    },
  };
}
