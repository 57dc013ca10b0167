import type { Db, MongoClient } from 'mongodb';
import { controlDatabase, generationDatabase } from '../../../shared/store/connection.ts';
import {
  ensureRegistry,
  generationOf,
  requireVersion,
  type Generation,
} from '../../../shared/control/generations.ts';
import { builtByMajority, ensureIndexes } from '../../../shared/store/indexes.ts';
import { waitUntil, type OnWait } from './wait-until.ts';
import { progressOf } from '../../../shared/control/progress.ts';
import { ensureDeadLetterIndexes } from '../../../shared/control/dead-letters.ts';

/** The condition that a start waits for. */
export const waitingForStore = 'MongoDB is unavailable';

/** After this time the start says that it waits for the indexes, in milliseconds. */
const slowBuildMs = 5_000;

/**
 * Waits for MongoDB, then opens the control database and the database of the generation to be followed, the active one
 * if none is given, with their indexes.
 */
export async function openStore(
  mongo: MongoClient,
  {
    DATABASE_NAME: databaseName,
    GENERATION: wanted,
  }: { DATABASE_NAME: string; GENERATION?: number | undefined },
  onWait: OnWait,
): Promise<{ control: Db; registered: Generation; database: Db }> {
  const control = controlDatabase(mongo, databaseName);
  // If the first operation connects instead and fails, the driver's topology stays closed.
  await waitUntil(onWait, waitingForStore, () => mongo.connect());
  const registered = await waitUntil(onWait, waitingForStore, async () => {
    const registry = await ensureRegistry(control);
    const followed = generationOf(registry, wanted ?? registry.generation);
    requireVersion(followed);
    return followed;
  });
  const database = generationDatabase(mongo, databaseName, registered.number);
  await waitUntil(onWait, waitingForStore, async () => {
    const slow = setTimeout(
      onWait,
      slowBuildMs,
      'MongoDB is building indexes',
      'a majority of its members must',
    );
    try {
      await ensureIndexes(database);
      await ensureControlIndexes(control);
    } finally {
      clearTimeout(slow);
    }
  });
  return { control, registered, database };
}

/** Creates the missing indexes of the control database. */
export async function ensureControlIndexes(control: Db): Promise<void> {
  await progressOf(control).createIndexes(
    [{ name: 'completeTo', key: { generation: 1, completeTo: 1 } }],
    builtByMajority,
  );
  await ensureDeadLetterIndexes(control);
}
