import { type Collections, readCollections } from '../../../shared/store/structures.ts';
import { readWithRetries } from './deadline.ts';
import { createSharedQueries } from './gather.ts';
import type { ReadSnapshot } from './read-snapshot.ts';
import { StoreUnavailable } from './store-errors.ts';

/**
 * Rejects with `StoreUnavailable` if a collection of the snapshot was dropped or replaced since the snapshot was read.
 */
export type RequireCollections = (
  snapshot: Pick<ReadSnapshot, 'authDatabase' | 'collections' | 'generation'>,
) => Promise<void>;

/**
 * The pause between two queries of a snapshot. So the 404s that clients cause cost MongoDB at most 100 queries a
 * second.
 */
const pauseMs = 10;
/** The maximum of queries in progress. */
const queriesMax = 2;

/**
 * Creates the check for a read that has found nothing. A dropped collection reads as empty, and a client would take
 * that for the end of a list or for a deletion. The check runs after the read: a collection whose id has not changed
 * existed throughout the read. All waiting checks share one query.
 */
export function createCollectionCheck(): RequireCollections {
  const share = createSharedQueries<null, Collections>({ queriesMax });
  return async (snapshot) => {
    const collectionIds = await share({ snapshot, name: 'collections' }, null, async () => {
      const collections = await readWithRetries((limits) => readCollections(snapshot.authDatabase, limits));
      return { find: () => collections, pauseMs };
    });
    const lost = [...snapshot.collections].filter(([name, id]) => collectionIds.get(name) !== id);
    if (lost.length === 0) return;
    const names = lost.map(([name]) => name).join(', ');
    throw new StoreUnavailable(
      `collections of generation ${snapshot.generation} were dropped or replaced while a request read them: ${names}`,
    );
  };
}
