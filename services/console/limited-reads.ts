import type { Collection, Db, MongoClient } from 'mongodb';

/*
 * Wraps the driver's objects: every read that the operations begin then has time limits, without an option in each of
 * their functions.
 */

/** The limits of each read: MongoDB ends it after `maxTimeMS`, and sooner if the signal aborts. */
export type ReadLimits = { maxTimeMS: number; signal: AbortSignal };

/** The methods of a collection that read. The second argument of each has the options. */
const readMethods = new Set<PropertyKey>(['find', 'findOne', 'aggregate', 'countDocuments']);

type Method = (...args: unknown[]) => unknown;

/** A proxy of `target` with replaced methods. The methods run on `target` itself, because it has private fields. */
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
    readMethods.has(name) ? (first, options) => own(first, { ...limits, ...(options as object) }) : own,
  );

/** The database; every read of its collections has these limits. */
export const limitedDatabase = (database: Db, limits: ReadLimits): Db =>
  withMethods(database, (name, own) =>
    name === 'collection' ? (...args) => limitedCollection(own(...args) as Collection, limits) : own,
  );

/** The client; every read of its databases has these limits. */
export const limitedClient = (client: MongoClient, limits: ReadLimits): MongoClient =>
  withMethods(client, (name, own) =>
    name === 'db' ? (...args) => limitedDatabase(own(...args) as Db, limits) : own,
  );
