import type { MongoClient } from 'mongodb';
import { kinds, type Kind } from '../../shared/documents/document.ts';
import { resources } from '../../shared/documents/resources.ts';
import { mongoStore } from '../../services/projector/materialize/mongo-store.ts';
import type { StoredDocument } from '../../services/projector/materialize/store.ts';
import { ensureIndexes } from '../../shared/store/indexes.ts';
import { collectionOf } from '../../shared/store/connection.ts';
import { useOpened } from '../support/use-opened.ts';
import { openDatabases } from '../support/databases.ts';

/** The driver's traffic with the store. */
type Traffic = {
  /** The number of commands. */
  commands: () => number;
  /** The number of documents of a kind that the store returned. */
  returned: (kind: Kind) => number;
};

/** The engine's store on a new database with its indexes, and the control database beside it, empty. */
export async function openEngineStore() {
  const { mongo, database, control, close } = await openDatabases();
  await ensureIndexes(database);
  return {
    store: mongoStore(database),
    database,
    control,
    close,
    /** Starts to count. */
    watch: watcher(mongo),
    find: (kind: Kind, id: string) => collectionOf<StoredDocument>(database, kind).findOne({ _id: id }),
  };
}

/** An engine's store for the tests of a `describe`. */
export const useEngineStore = (options?: { each: boolean }) => useOpened(openEngineStore, options);

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
