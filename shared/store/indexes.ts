import { BSON, type Db, type IndexDescription } from 'mongodb';
import { type Kind, kinds, resources } from '../documents/resources.ts';
import { errorMessage } from '../runtime/error-message.ts';
import { readIndexes } from './structures.ts';

/**
 * The creation of an index ends once a majority of the members has built it. By default MongoDB waits for every voting
 * member without a limit, so a single member that is down would block the start of a release with a new index.
 */
export const builtByMajority = { commitQuorum: 'majority' } as const;

/**
 * Creates every missing index, and with it its collection. If MongoDB refuses an index, rejects with an error that
 * names the collection; its `cause` is the driver's error.
 */
export async function ensureIndexes(database: Db): Promise<void> {
  for (const kind of kinds) await createIndexes(database, kind, resources[kind].indexes);
}

/**
 * Rejects, as `ensureIndexes` would, if an index conflicts with a declared one. Builds nothing: it requests only the
 * declared indexes that share a name or fields with an existing index.
 */
export async function tryIndexes(database: Db): Promise<void> {
  for (const kind of kinds) {
    const existing = await readIndexes(database, resources[kind].collection);
    const similar = resources[kind].indexes.filter((declared) =>
      existing.some((index) => index.name === declared.name || fieldsOf(index) === fieldsOf(declared)),
    );
    if (similar.length > 0) await createIndexes(database, kind, similar);
  }
}

async function createIndexes(database: Db, kind: Kind, indexes: readonly IndexDescription[]): Promise<void> {
  const { collection } = resources[kind];
  try {
    await database.collection(collection).createIndexes([...indexes], builtByMajority);
  } catch (error) {
    const names = indexes.map(({ name }) => name).join(', ');
    const failed = `indexes of ${database.databaseName}.${collection} (${names})`;
    throw new Error(`${failed}: ${errorMessage(error)}`, { cause: error });
  }
}

/** The properties by which MongoDB distinguishes two indexes, besides their names. */
const fieldsOf = ({ key, partialFilterExpression, unique, sparse }: IndexDescription): string =>
  BSON.EJSON.stringify([key, partialFilterExpression ?? null, unique ?? false, sparse ?? false]);
