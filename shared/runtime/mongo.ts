import { MongoClient, type Collection, type Db } from 'mongodb';
import type { Document, Envelope, Kind } from '../documents/document.ts';
import { resources } from '../documents/resources.ts';

/** How long an operation waits for a reachable server before it fails, in milliseconds. */
const serverSelectionTimeoutMs = 5_000;

/**
 * A client that writes with `w: majority`, journaled, and reads from the primary. `connect` is left to the
 * driver's first operation, so that a store that is away is an error of that operation, not of the start.
 */
export const createMongo = (url: string, appName: string, poolSizeMax = 20): MongoClient =>
  new MongoClient(url, {
    appName,
    maxPoolSize: poolSizeMax,
    serverSelectionTimeoutMS: serverSelectionTimeoutMs,
    ignoreUndefined: true,
    readPreference: 'primary',
    writeConcern: { w: 'majority', journal: true },
  });

/** The databases of one deployment: what outlives a generation, and a generation's documents. */
export const controlDatabase = (client: MongoClient, name: string): Db => client.db(name);
export const generationDatabase = (client: MongoClient, name: string, generation: number): Db =>
  client.db(`${name}_g${generation}`);

/** The collection of a kind's documents in a generation's database. */
export const collectionOf = <T extends Envelope = Document<unknown, unknown>>(
  database: Db,
  kind: Kind,
): Collection<T> => database.collection<T>(resources[kind].collection);
