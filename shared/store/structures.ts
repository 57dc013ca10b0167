import { type CommandOperationOptions, type Db, type IndexDescriptionInfo, MongoServerError } from 'mongodb';
import { type Kind, kinds, resources } from '../documents/resources.ts';

/** The collections of a database that exist, each with the id that MongoDB gave it when it was created. */
export type Collections = ReadonlyMap<string, string>;

/**
 * Reads which collections exist. A read of a missing collection would return an empty result without an error, and only
 * the id shows that a restore or an operator has replaced a collection by another of the same name.
 */
export async function readCollections(
  database: Db,
  options: CommandOperationOptions = {},
): Promise<Collections> {
  const found = await database.listCollections({}, { nameOnly: false, ...options }).toArray();
  return new Map(found.map(({ name, info }) => [name, info?.uuid?.toString('hex') ?? '']));
}

/** The collections of a generation's database. */
export const documentCollections = kinds.map((kind) => resources[kind].collection);

/** An index that the database cannot use. */
export type IndexFault = {
  kind: Kind;
  index: string;
  /** `hidden`: it exists, and an operator has hidden it from queries. */
  fault: 'missing' | 'hidden';
};

/** The names of indexes, by kind. */
export type IndexNames = { [K in Kind]?: readonly string[] };

/** The indexes that a projector creates. */
export const declaredIndexes: IndexNames = Object.fromEntries(
  kinds.map((kind) => [kind, resources[kind].indexes.map(({ name }) => name)]),
);

/** The indexes that are missing in the database, or hidden. A missing collection lacks all of its indexes. */
export async function readIndexFaults(
  database: Db,
  names: IndexNames,
  options: CommandOperationOptions = {},
): Promise<IndexFault[]> {
  const reading = kinds.map(async (kind): Promise<IndexFault[]> => {
    const wanted = names[kind] ?? [];
    if (wanted.length === 0) return [];
    const existing = await readIndexes(database, resources[kind].collection, options);
    const faults: IndexFault[] = [];
    for (const index of wanted) {
      const found = existing.find(({ name }) => name === index);
      if (!found) faults.push({ kind, index, fault: 'missing' });
      else if (found.hidden) faults.push({ kind, index, fault: 'hidden' });
    }
    return faults;
  });
  const faultsByKind = await Promise.all(reading);
  return faultsByKind.flat();
}

/** MongoDB's code for a collection that does not exist. */
const namespaceNotFound = 26;

/** The indexes of a collection; empty if the collection does not exist. */
export async function readIndexes(
  database: Db,
  collection: string,
  options: CommandOperationOptions = {},
): Promise<IndexDescriptionInfo[]> {
  try {
    return await database.collection(collection).indexes({ ...options, full: true });
  } catch (error) {
    if (error instanceof MongoServerError && error.code === namespaceNotFound) return [];
    throw error;
  }
}

/** `tickets.updated`, or `tickets.updated (hidden)`. */
export const describeIndexFault = ({ kind, index, fault }: IndexFault): string =>
  `${resources[kind].collection}.${index}${fault === 'hidden' ? ' (hidden)' : ''}`;
