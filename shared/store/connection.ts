import { MongoClient, type Collection, type Db } from 'mongodb';
import type { Document, Envelope, Kind } from '../documents/document.ts';
import { resources } from '../documents/resources.ts';

/** How long an operation waits for a reachable server before it fails, in milliseconds. */
const serverSelectionTimeoutMs = 5_000;

/**
 * How long a write waits for a lost majority, in milliseconds; without a limit it would wait for ever. After that it is
 * unknown whether the write applied, and the caller repeats it.
 */
const majorityTimeoutMs = 30_000;

/** The pool size if the connection string has no `maxPoolSize`. */
const poolSizeDefault = 20;

type PoolOptions = {
  /** Replaces the default. */
  poolSize?: number;
  /** The upper limit of the pool size, even if the connection string has a larger one. */
  poolSizeMax?: number;
  /** How long an operation waits for a connection, in milliseconds; forever if absent. */
  poolTimeoutMs?: number;
};

/**
 * A client that writes with `w: majority`, journaled and within a time limit, and reads from the primary. The driver connects at the first
 * operation, so that an unavailable MongoDB is an error of that operation, not of the start.
 */
export const createMongo = (url: string, appName: string, pool: PoolOptions = {}): MongoClient =>
  new MongoClient(url, {
    appName,
    maxPoolSize: poolSizeOf(url, pool),
    ...(pool.poolTimeoutMs === undefined ? {} : { waitQueueTimeoutMS: pool.poolTimeoutMs }),
    serverSelectionTimeoutMS: serverSelectionTimeoutMs,
    ignoreUndefined: true,
    readPreference: 'primary',
    writeConcern: { w: 'majority', journal: true, wtimeoutMS: majorityTimeoutMs },
  });

/** Options in code override the connection string, so its `maxPoolSize` is read here. 0 means no limit. */
function poolSizeOf(url: string, { poolSize = poolSizeDefault, poolSizeMax }: PoolOptions): number {
  const [, given] = /[?&]maxPoolSize=(\d+)(?:&|$)/i.exec(url) ?? [];
  const size = given === undefined ? poolSize : Number(given);
  return poolSizeMax === undefined ? size : Math.min(size || poolSizeMax, poolSizeMax);
}

/** The two databases of a deployment: the control database outlives generations; each generation has its own. */
export const controlDatabase = (client: MongoClient, name: string): Db => client.db(name);
export const generationDatabase = (client: MongoClient, name: string, generation: number): Db =>
  client.db(`${name}_g${generation}`);

/** The collection of a kind's documents in a generation's database. */
export const collectionOf = <T extends Envelope = Document<unknown, unknown>>(
  database: Db,
  kind: Kind,
): Collection<T> => database.collection<T>(resources[kind].collection);
