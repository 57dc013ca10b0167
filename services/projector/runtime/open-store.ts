import type { Db, MongoClient } from 'mongodb';
import type { Logger } from '../../../shared/runtime/logger.ts';
import { controlDatabase, generationDatabase } from '../../../shared/store/connection.ts';
import { ensureActiveGeneration } from '../../../shared/store/generations.ts';
import { ensureIndexes } from '../../../shared/store/indexes.ts';
import { ensureControlIndexes } from './control-indexes.ts';
import { waitUntil } from './wait-until.ts';

const waitingFor = 'MongoDB is unavailable';

/** Waits for MongoDB, then opens the control database and the active generation's database, with their indexes. */
export async function openStore(
  mongo: MongoClient,
  databaseName: string,
  logger: Logger,
): Promise<{ control: Db; generation: number; database: Db }> {
  const control = controlDatabase(mongo, databaseName);
  // If the first operation connects instead and fails, the driver's topology stays closed.
  await waitUntil(logger, waitingFor, () => mongo.connect());
  const generation = await waitUntil(logger, waitingFor, () => ensureActiveGeneration(control));
  const database = generationDatabase(mongo, databaseName, generation);
  await waitUntil(logger, waitingFor, async () => {
    await ensureIndexes(database);
    await ensureControlIndexes(control);
  });
  return { control, generation, database };
}
