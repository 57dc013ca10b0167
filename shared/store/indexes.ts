import type { Db } from 'mongodb';
import { kinds, resources } from '../documents/resources.ts';
import { errorMessage } from '../runtime/error-message.ts';

/**
 * An index counts once a majority of the members has built it. By default MongoDB waits for every voting member,
 * without a limit: one that is down would hold up the start of a release that brings an index.
 */
export const builtByMajority = { commitQuorum: 'majority' } as const;

/**
 * Creates every missing index, and with it its collection. If MongoDB refuses an index, rejects with an error that
 * names the collection; its `cause` is the driver's error.
 */
export async function ensureIndexes(database: Db): Promise<void> {
  for (const kind of kinds) {
    const { collection, indexes } = resources[kind];
    try {
      await database.collection(collection).createIndexes([...indexes], builtByMajority);
    } catch (error) {
      const names = indexes.map(({ name }) => name).join(', ');
      const failed = `indexes of ${database.databaseName}.${collection} (${names})`;
      throw new Error(`${failed}: ${errorMessage(error)}`, { cause: error });
    }
  }
}
