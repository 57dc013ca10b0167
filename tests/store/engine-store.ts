import { randomBytes } from 'node:crypto';
import { MongoClient, type Db } from 'mongodb';
import { kinds, type Kind } from '../../shared/documents/document.ts';
import { resources } from '../../shared/documents/resources.ts';
import { mongoStore } from '../../services/projector/materialize/mongo-store.ts';
import type { Store } from '../../services/projector/materialize/store.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';

/** What the store was asked, as its driver saw it. */
export type Asked = {
  /** How many commands there were. */
  commands: () => number;
  /** How many documents of a kind it gave. */
  given: (kind: Kind) => number;
};

/** The engine's store on a database of a test's own, with its indexes, on the server of the run. */
export type EngineStore = {
  store: Store;
  database: Db;
  /** The control database beside it, empty. */
  control: Db;
  /** Counts from now on. */
  watch: () => Asked;
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

function watcher(mongo: MongoClient): () => Asked {
  let commands = 0;
  const given = new Map<string, number>();
  const givenOf = (kind: Kind) => given.get(resources[kind].collection) ?? 0;
  mongo.on('commandStarted', () => (commands += 1));
  mongo.on('commandSucceeded', ({ reply }) => {
    const { cursor } = reply as Reply;
    if (!cursor) return;
    const collection = cursor.ns.slice(cursor.ns.indexOf('.') + 1);
    const count = (cursor.firstBatch ?? cursor.nextBatch ?? []).length;
    given.set(collection, (given.get(collection) ?? 0) + count);
  });
  return () => {
    const before = { commands, given: new Map(kinds.map((kind) => [kind, givenOf(kind)])) };
    return {
      commands: () => commands - before.commands,
      given: (kind) => givenOf(kind) - (before.given.get(kind) ?? 0),
    };
  };
}
