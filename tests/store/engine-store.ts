import { randomBytes } from 'node:crypto';
import { MongoClient, type Db } from 'mongodb';
import { kinds, type Kind } from '../../shared/documents/document.ts';
import { resources } from '../../shared/documents/resources.ts';
import { mongoStore } from '../../services/projector/materialize/mongo-store.ts';
import type { Store } from '../../services/projector/materialize/store.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';

/** The driver's traffic with the store. */
export type Traffic = {
  /** The number of commands. */
  commands: () => number;
  /** The number of documents of a kind that the store returned. */
  returned: (kind: Kind) => number;
};

/** The engine's store on a new database with its indexes, on the server of the test run. */
export type EngineStore = {
  store: Store;
  database: Db;
  /** The control database beside it, empty. */
  control: Db;
  /** Starts to count. */
  watch: () => Traffic;
  close: () => Promise<void>;
};

export async function openEngineStore(): Promise<EngineStore> {
  const mongo = new MongoClient(process.env.MONGODB_URL ?? '', { monitorCommands: true });
  const name = `t${randomBytes(5).toString('hex')}`;
  const database = mongo.db(`${name}_g1`);
  const control = mongo.db(name);
  const watch = watcher(mongo);
  await ensureIndexes(database);
  return {
    store: mongoStore(database),
    database,
    control,
    watch,
    close: async () => {
      await Promise.all([database.dropDatabase(), control.dropDatabase()]);
      await mongo.close();
    },
  };
}

type Reply = { cursor?: { ns: string; firstBatch?: unknown[]; nextBatch?: unknown[] } };

function watcher(mongo: MongoClient): () => Traffic {
  let commands = 0;
  const returned = new Map<string, number>();
  const returnedOf = (kind: Kind) => returned.get(resources[kind].collection) ?? 0;
  mongo.on('commandStarted', () => (commands += 1));
  mongo.on('commandSucceeded', ({ reply }) => {
    const { cursor } = reply as Reply;
    if (!cursor) return;
    const collection = cursor.ns.slice(cursor.ns.indexOf('.') + 1);
    const count = (cursor.firstBatch ?? cursor.nextBatch ?? []).length;
    returned.set(collection, (returned.get(collection) ?? 0) + count);
  });
  return () => {
    const before = { commands, returned: new Map(kinds.map((kind) => [kind, returnedOf(kind)])) };
    return {
      commands: () => commands - before.commands,
      returned: (kind) => returnedOf(kind) - (before.returned.get(kind) ?? 0),
    };
  };
}
