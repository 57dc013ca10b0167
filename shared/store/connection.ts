import {
  type Collection,
  type Db,
  type DbOptions,
  MongoClient,
  type MongoClientOptions,
  type ReadConcernLevel,
  type ReadPreference,
} from 'mongodb';
import type { Document } from '../documents/entity.ts';
import { type Kind, kinds, resources } from '../documents/resources.ts';
import { optionsIn, poolSizeDefault, withoutReadPreference } from '../runtime/connection-string.ts';
import { patchConnections, patchTexts } from './driver-patch.ts';

/** An operation waits this long for a reachable server before it fails, in milliseconds. */
const serverSelectionTimeoutMs = 5_000;

/**
 * A connection may take this long to open, in milliseconds. Attempts that began during an outage of the network block
 * the pool for this long after the outage; the driver's default is 30 s.
 */
const connectTimeoutMs = 5_000;

/**
 * A write waits this long for a lost majority, in milliseconds; without a limit it would wait forever. After that it is
 * unknown whether MongoDB has applied the write, and the caller retries it.
 */
const majorityTimeoutMs = 30_000;

type PoolOptions = {
  /** The pool size if the connection string has none; replaces the default. */
  poolSize?: number;
  /**
   * The upper limit of the pool size, even if the connection string has a larger one. Such a pool opens no connections
   * in advance.
   */
  poolSizeMax?: number;
  /** Time limits that replace the defaults, under the names of the connection string. */
  timeouts?: Pick<
    MongoClientOptions,
    (`${string}TimeoutMS` & keyof MongoClientOptions) | 'heartbeatFrequencyMS'
  >;
};

/**
 * Creates a client that writes with `w: majority`, journaled and within a time limit, and reads with the concern
 * `local`, unless the connection string has `majority`. It connects to the primary and reads there. Every other option
 * of the connection string applies. The driver connects at the first operation, so an unavailable MongoDB fails that
 * operation, not the start.
 */
export function createMongo(
  url: string,
  appName: string,
  { poolSize = poolSizeDefault, poolSizeMax, timeouts }: PoolOptions = {},
): MongoClient {
  patchConnections();
  patchTexts();
  const urlOptions = optionsIn(url);
  const defaults = {
    appName,
    maxPoolSize: poolSize,
    serverSelectionTimeoutMS: serverSelectionTimeoutMs,
    connectTimeoutMS: connectTimeoutMs,
    ...timeouts,
  };
  // An option in code overrides the connection string.
  const absent = Object.entries(defaults).filter(([name]) => !urlOptions.has(name.toLowerCase()));
  const options: MongoClientOptions = {
    ...Object.fromEntries(absent),
    // Always set: an operator may set another default for all clients, under which reads wait for a majority.
    readConcern: { level: (urlOptions.get('readconcernlevel') ?? 'local') as ReadConcernLevel },
    writeConcern: {
      w: 'majority',
      journal: true,
      wtimeoutMS: Number(urlOptions.get('wtimeoutms') ?? majorityTimeoutMs),
    },
  };
  if (poolSizeMax !== undefined) {
    const size = Number(urlOptions.get('maxpoolsize') ?? poolSize);
    // For the driver, a size of 0 is no limit.
    options.maxPoolSize = size > 0 ? Math.min(size, poolSizeMax) : poolSizeMax;
    options.minPoolSize = 0;
  }
  return new MongoClient(withoutReadPreference(url), options);
}

/**
 * The two databases of a deployment: the control database outlives generations; each generation has its own. Both are
 * read from the primary, unless `options` overrides that: a projector compares and sets the values that it has read,
 * and a blocked key is blocked immediately.
 */
export const controlDatabase = (client: MongoClient, name: string): Db => client.db(name);
export const generationDatabase = (
  client: MongoClient,
  name: string,
  generation: number,
  options: DbOptions = {},
): Db => client.db(`${name}_g${generation}`, options);

/** The members that the connection string selects for reads. Only the API uses them, and only for data. */
export const readPreferenceOf = (url: string): ReadPreference => new MongoClient(url).readPreference;

/** The collection of a kind's documents in a generation's database. */
export const collectionOf = <T extends { _id: string } = Document<unknown, unknown>>(
  database: Db,
  kind: Kind,
): Collection<T> => database.collection<T>(resources[kind].collection);

/** Rejects with MongoDB's error if this user may not list the collections, or read the documents of a kind. */
export async function requireReadable(database: Db): Promise<void> {
  await database.listCollections({}, { nameOnly: false }).toArray();
  const first = { projection: { _id: 1 }, limit: 1 } as const;
  for (const kind of kinds) await collectionOf(database, kind).find({}, first).sort({ _id: 1 }).toArray();
}

/**
 * Rejects with MongoDB's error if this user may not write to a collection. Matches nothing, so that only the right is
 * tried.
 */
export const requireWritable = <T extends object>(collection: Collection<T>) =>
  collection.updateOne({ _id: '' as never }, { $set: { at: 0 } as never });
