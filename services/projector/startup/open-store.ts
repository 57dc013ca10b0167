import type { Db, MongoClient } from 'mongodb';
import { ensureDeadLetterIndexes } from '../../../shared/control/dead-letters.ts';
import { ensureRegistry, generationOf, requireVersion } from '../../../shared/control/generations.ts';
import { progressOf } from '../../../shared/control/progress.ts';
import { forgetOtherRefreshes } from '../../../shared/control/refreshes.ts';
import { ensureBlocksMarker } from '../../../shared/control/registry.ts';
import { storeTime } from '../../../shared/store/clock.ts';
import { controlDatabase, generationDatabase } from '../../../shared/store/connection.ts';
import { readHello } from '../../../shared/store/hello.ts';
import { builtByMajority, ensureIndexes } from '../../../shared/store/indexes.ts';
import { joinedBy } from '../joined-by.ts';
import { type OnWait, waitUntil } from './wait-until.ts';

/** After this time the start says that it waits for the indexes, in milliseconds. */
const slowBuildMs = 5_000;

type StoreConfig = { DATABASE_NAME: string; GENERATION?: number | undefined };

/**
 * Waits for MongoDB, then opens the control database and the database of the generation to be followed, the active one
 * if none is given, with their indexes.
 */
export async function openStore(mongo: MongoClient, config: StoreConfig, onWait: OnWait) {
  const { DATABASE_NAME: databaseName, GENERATION: wanted } = config;
  const control = controlDatabase(mongo, databaseName);
  // If the first operation connects instead and fails, the driver's topology stays closed.
  await waitUntil(onWait, () => mongo.connect());
  const registered = await waitUntil(onWait, async () => {
    await readHello(control);
    const registry = await ensureRegistry(control);
    const followed = generationOf(registry, wanted ?? registry.generation);
    requireVersion(followed);
    await ensureBlocksMarker(control, registry, await storeTime(control));
    return followed;
  });
  const database = generationDatabase(mongo, databaseName, registered.number);
  await waitUntil(onWait, async () => {
    const building = ['MongoDB is building indexes', 'a majority of its members must'] as const;
    const slow = setTimeout(onWait, slowBuildMs, ...building);
    try {
      await ensureIndexes(database);
      await ensureControlIndexes(control);
      await forgetOtherRefreshes(control, registered.number, joinedBy);
    } finally {
      clearTimeout(slow);
    }
  });
  return { control, registered, database };
}

/** Creates the missing indexes of the control database. */
export async function ensureControlIndexes(control: Db): Promise<void> {
  const index = { name: 'completeTo', key: { generation: 1, completeTo: 1 } } as const;
  await progressOf(control).createIndexes([index], builtByMajority);
  await ensureDeadLetterIndexes(control);
}
