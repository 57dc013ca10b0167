import { MongoClient, type Collection, type Db } from 'mongodb';
import type { Document, Envelope, Kind } from '../documents/document.ts';
import { resources } from '../documents/resources.ts';

/** How long an operation waits for a reachable server before it fails, in milliseconds. */
const serverSelectionTimeoutMs = 5_000;

/** Connections of a pool where the connection string has no `maxPoolSize`. */
const poolSizeDefault = 20;

type PoolOptions = {
  /** In place of the default. */
  poolSize?: number;
  /** The most connections, whatever the connection string says. */
  poolSizeMax?: number;
  /** How long an operation waits for a connection, in milliseconds; without end where absent. */
  poolTimeoutMs?: number;
};

/**
 * A client that writes with `w: majority`, journaled, and reads from the primary. `connect` is left to the
 * driver's first operation, so that a store that is away is an error of that operation, not of the start.
 */
export const createMongo = (url: string, appName: string, pool: PoolOptions = {}): MongoClient =>
  new MongoClient(url, {
    appName,
    maxPoolSize: poolSizeOf(url, pool),
    ...(pool.poolTimeoutMs === undefined ? {} : { waitQueueTimeoutMS: pool.poolTimeoutMs }),
    serverSelectionTimeoutMS: serverSelectionTimeoutMs,
    ignoreUndefined: true,
    readPreference: 'primary',
    writeConcern: { w: 'majority', journal: true },
  });

/** Options given in code override those of the connection string, so its own has to be looked for. 0 is no limit. */
function poolSizeOf(url: string, { poolSize = poolSizeDefault, poolSizeMax }: PoolOptions): number {
  const [, given] = /[?&]maxPoolSize=(\d+)(?:&|$)/i.exec(url) ?? [];
  const size = given === undefined ? poolSize : Number(given);
  return poolSizeMax === undefined ? size : Math.min(size || poolSizeMax, poolSizeMax);
}

/** The databases of one deployment: what outlives a generation, and a generation's documents. */
export const controlDatabase = (client: MongoClient, name: string): Db => client.db(name);
export const generationDatabase = (client: MongoClient, name: string, generation: number): Db =>
  client.db(`${name}_g${generation}`);

/** The collection of a kind's documents in a generation's database. */
export const collectionOf = <T extends Envelope = Document<unknown, unknown>>(
  database: Db,
  kind: Kind,
): Collection<T> => database.collection<T>(resources[kind].collection);
