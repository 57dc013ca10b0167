import { type Db, type MongoClient, ReadConcern, type ReadConcernLevel, type ReadPreference } from 'mongodb';
import { activeGeneration } from '../../../shared/control/generations.ts';
import { notAfterNow, readWatermark } from '../../../shared/control/progress.ts';
import { servedIndexes } from '../../../shared/documents/served-indexes.ts';
import type { StoreClock } from '../../../shared/store/clock.ts';
import { generationDatabase } from '../../../shared/store/connection.ts';
import { readCollections, readIndexFaults } from '../../../shared/store/structures.ts';
import type { ReadOptions } from './deadline.ts';
import { storeTimeOf } from './read-data.ts';
import type { SnapshotSources, Structures } from './read-snapshot.ts';

type SourceDeps = {
  /** The client for reads of data. */
  mongo: MongoClient;
  /** Selects the members that data is read from. */
  readPreference: ReadPreference;
  /** The client for keys and watermarks. */
  authMongo: MongoClient;
  /** The control database, on the client for keys. */
  control: Db;
  /** The store's clock. */
  clock: StoreClock;
};

/** The sources of snapshots: `control`, and the databases of the generations, whose names begin with `name`. */
export function createSnapshotSources(
  { mongo, readPreference, authMongo, control, clock }: SourceDeps,
  name: string,
): SnapshotSources {
  const readsPrimary = readPreference.mode === 'primary';
  return {
    connect: () => Promise.all([mongo.connect(), authMongo.connect()]),
    activeGeneration: async (limits: ReadOptions) => {
      // Also reads the clock, because no request may read data before the time that decides expiry is known.
      const reading = activeGeneration(control, limits);
      const [active] = await Promise.all([reading, clock.read()]);
      return active;
    },
    watermark: (generation: number, limits: ReadOptions) =>
      authMongo.withSession(async (session) => {
        // Each read has its own copy, because the driver writes the session's time into it when it repeats the read.
        const readConcern = new ReadConcern((control.readConcern?.level ?? 'local') as ReadConcernLevel);
        // A clock that was wrong may have raised the stored watermark beyond now, and it would never fall again.
        const options = { ...limits, projection: notAfterNow, session, readConcern };
        const completeTo = await readWatermark(control, generation, options);
        return { completeTo, readAfter: readsPrimary ? null : storeTimeOf(session) };
      }),
    controlCollections: (limits: ReadOptions) => readCollections(control, limits),
    structures: readStructures,
    databasesOf: (generation: number) => ({
      database: generationDatabase(mongo, name, generation, { readPreference }),
      authDatabase: generationDatabase(authMongo, name, generation),
    }),
  };
}

/**
 * Reads the collections before their indexes. If a collection is replaced in between, the next read finds its other id.
 */
async function readStructures(database: Db, limits: ReadOptions): Promise<Structures> {
  const collections = await readCollections(database, limits);
  const faults = await readIndexFaults(database, servedIndexes, limits);
  return { collections, faults };
}
