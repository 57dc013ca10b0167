import { MongoServerError, type CommandOperationOptions, type Db, type IndexDescription } from 'mongodb';
import { kinds } from '../documents/document.ts';
import { resources } from '../documents/resources.ts';
import { errorMessage } from '../runtime/error-message.ts';

/**
 * An index counts once a majority of the members has built it. By default MongoDB waits for every voting member, without
 * a limit: one that is down would hold up the start of a release that brings an index.
 */
export const builtByMajority = { commitQuorum: 'majority' } as const;

/** The index that `expiry` replaces. It has an entry for every document, and each write pays for it. */
const formerIndex = 'tombstones';
const indexNotFound = 27;

/**
 * Creates every missing index, and with it its collection, then drops the former one. If MongoDB refuses an index,
 * rejects with an error that names the collection; its `cause` is the driver's error.
 */
export async function ensureIndexes(database: Db): Promise<void> {
  for (const kind of kinds) {
    const { collection, indexes } = resources[kind];
    await createIndexes(database, collection, indexes);
    await dropFormerIndex(database, collection);
  }
}

async function dropFormerIndex(database: Db, collection: string): Promise<void> {
  await database
    .collection(collection)
    .dropIndex(formerIndex)
    .catch((error: unknown) => {
      if (!(error instanceof MongoServerError && error.code === indexNotFound)) throw error;
    });
}

async function createIndexes(
  database: Db,
  collection: string,
  indexes: readonly IndexDescription[],
): Promise<void> {
  await database
    .collection(collection)
    .createIndexes([...indexes], builtByMajority)
    .catch((error: unknown) => {
      const reason = errorMessage(error);
      const names = indexes.map(({ name }) => name).join(', ');
      throw new Error(`indexes of ${database.databaseName}.${collection} (${names}): ${reason}`, {
        cause: error,
      });
    });
}

/** The declared indexes that the database does not have, as `<collection>.<index>`. */
export async function missingIndexes(database: Db, options: CommandOperationOptions = {}): Promise<string[]> {
  const missing = await Promise.all(
    kinds.map(async (kind) => {
      const { collection, indexes } = resources[kind];
      const existing = await indexNames(database, collection, options);
      return indexes.filter(({ name }) => !existing.has(name)).map(({ name }) => `${collection}.${name}`);
    }),
  );
  return missing.flat();
}

async function indexNames(
  database: Db,
  collection: string,
  options: CommandOperationOptions,
): Promise<Set<string | undefined>> {
  const found = await database
    .listCollections({ name: collection }, { nameOnly: true, ...options })
    .toArray();
  if (found.length === 0) return new Set();
  const indexes = await database.collection(collection).indexes(options);
  return new Set(indexes.map(({ name }) => name));
}
