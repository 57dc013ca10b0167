import { type Db, type MongoClient, ReadConcern, type ReadConcernLevel, type ReadPreference } from 'mongodb';
import { activeGeneration } from '../../../shared/control/generations.ts';
import { notAfterNow, watermark } from '../../../shared/control/progress.ts';
import { servedIndexes } from '../../../shared/documents/served-indexes.ts';
import type { StoreClock } from '../../../shared/store/clock.ts';
import { generationDatabase } from '../../../shared/store/connection.ts';
import { indexFaults, readCollections } from '../../../shared/store/structures.ts';
import type { ReadOptions } from './deadline.ts';
import { storeTimeOf } from './read-data.ts';
import type { SnapshotSources, Structures } from './read-snapshot.ts';

type SourceDeps = {
  /** For data. */
  mongo: MongoClient;
  /** Selects the members that data is read from. */
  readPreference: ReadPreference;
  /** For keys and watermarks. */
  authMongo: MongoClient;
  /** The control database, by `authMongo`. */
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
      // No request reads data before the time is known.
      const reading = activeGeneration(control, limits);
      const [active] = await Promise.all([reading, clock.read()]);
      return active;
    },
    watermark: (generation: number, limits: ReadOptions) =>
      authMongo.withSession(async (session) => {
        // A clock that was wrong may have raised the watermark too far for good. Each read needs its own copy, because
        // the driver writes the session's time into the concern of a read that it repeats.
        const readConcern = new ReadConcern((control.readConcern?.level ?? 'local') as ReadConcernLevel);
        const options = { ...limits, projection: notAfterNow, session, readConcern };
        const completeTo = await watermark(control, generation, options);
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
 * The collections come first: a collection that is replaced before its indexes are read has another id after the next
 * read.
 */
async function readStructures(database: Db, limits: ReadOptions): Promise<Structures> {
  const collections = await readCollections(database, limits);
  const faults = await indexFaults(database, servedIndexes, limits);
  return { collections, faults };
}
