import type { Collection, Db, MongoClient } from 'mongodb';

/** The limits of each read: MongoDB ends it after `maxTimeMS`, and sooner if the signal aborts. */
export type ReadLimits = { maxTimeMS: number; signal: AbortSignal };

/** The reads of a collection, whose second argument holds the options. */
const reads = new Set<PropertyKey>(['find', 'findOne', 'aggregate', 'countDocuments']);

type Method = (...args: unknown[]) => unknown;

/** `target` with other methods. The rest is its own, also its private fields. */
function withMethods<T extends object>(target: T, replace: (name: PropertyKey, own: Method) => Method): T {
  return new Proxy(target, {
    get: (_, name) => {
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? replace(name, value.bind(target) as Method) : value;
    },
  });
}

const limitedCollection = (collection: Collection, limits: ReadLimits): Collection =>
  withMethods(collection, (name, own) =>
    reads.has(name) ? (first, options) => own(first, { ...limits, ...(options as object) }) : own,
  );

/** The database, whose reads have these limits in every function that begins one. */
export const limitedDatabase = (database: Db, limits: ReadLimits): Db =>
  withMethods(database, (name, own) =>
    name === 'collection' ? (...args) => limitedCollection(own(...args) as Collection, limits) : own,
  );

/** The client, whose databases have these limits. */
export const limitedClient = (client: MongoClient, limits: ReadLimits): MongoClient =>
  withMethods(client, (name, own) =>
    name === 'db' ? (...args) => limitedDatabase(own(...args) as Db, limits) : own,
  );
