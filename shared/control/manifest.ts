import { type Db, MongoServerError } from 'mongodb';
import { generationDatabase } from '../store/connection.ts';
import { hasDocument, hasDocuments, listGenerationDatabases } from '../store/generation-databases.ts';
import { type Collections, documentCollections, readCollections } from '../store/structures.ts';

/** The collections of a database that must exist, each with the id that MongoDB gave it when it was created. */
export type Manifest = Record<string, string>;

/**
 * The collections of the control database whose content no process can restore. A projector restores a lost watermark,
 * Kafka has the bytes of dead letters, and the other collections hold announcements and traces.
 */
const controlCollections = ['generations', 'progress', 'blocked_keys', 'log_gaps', 'dead_letters'] as const;

/** The collections of the control database without which no answer is right. */
export const servedFrom: readonly string[] = ['generations', 'blocked_keys'];

/** A listed collection that is gone, or that an operator has restored or created again with another id. */
export type LostCollection = { database: string; collection: string; is: 'gone' | 'other' };

/**
 * The listed collections that are gone or have another id. The id decides, because a name can be reused and a missing
 * collection reads as empty. Before a projector has started on the database, no list exists and nothing counts as
 * missing.
 */
export function missing(
  database: string,
  manifest: Manifest | undefined,
  found: Collections,
): LostCollection[] {
  return Object.entries(manifest ?? {}).flatMap(([collection, id]): LostCollection[] => {
    const present = found.get(collection);
    if (present === undefined) return [{ database, collection, is: 'gone' }];
    // A store may give no ids.
    return present === id || present === '' || id === '' ? [] : [{ database, collection, is: 'other' }];
  });
}

/** The listed collections of a database that are gone or have another id. */
export const readLost = async (database: Db, manifest: Manifest | undefined): Promise<LostCollection[]> =>
  missing(database.databaseName, manifest, await readCollections(database));

/** `support_g1.tickets is gone, support_g1.qas is another collection than before`. */
export const describeLost = (lost: LostCollection[]): string =>
  lost
    .map(({ database, collection, is }) =>
      is === 'gone' ? `${database}.${collection} is gone` : `${database}.${collection} is another collection`,
    )
    .join(', ');

/** Creates the collections of the control database that do not exist, and lists all. */
export async function createControlCollections(control: Db): Promise<Manifest> {
  const existing = await readCollections(control);
  for (const name of controlCollections) if (!existing.has(name)) await createCollection(control, name);
  return listOf(await readCollections(control), controlCollections);
}

/** MongoDB's code for a collection that exists. */
const namespaceExists = 48;

/** Creates an empty collection, unless another process has just done so. */
export async function createCollection(database: Db, name: string): Promise<void> {
  try {
    await database.createCollection(name);
  } catch (error) {
    if (!(error instanceof MongoServerError && error.code === namespaceExists)) throw error;
  }
}

/** Lists the collections of a generation's database, once they are created. */
export const readDocumentCollections = async (database: Db): Promise<Manifest> =>
  listOf(await readCollections(database), documentCollections);

/** The listed collections, with their ids of now. */
export const listOf = (found: Collections, names: readonly string[]): Manifest =>
  Object.fromEntries(names.flatMap((name) => (found.has(name) ? [[name, found.get(name) ?? '']] : [])));

/**
 * The places that hold something of a read model: collections of the control database, and databases of generations.
 * Empty collections do not count: an operator may create sharded ones beforehand.
 */
export async function findReadModel(control: Db): Promise<string[]> {
  const found: string[] = [];
  for (const name of [...controlCollections, 'watermarks'])
    if (await hasDocument(control.collection(name))) found.push(name);
  for (const number of new Set([1, ...(await listGenerationDatabases(control))])) {
    const database = generationDatabase(control.client, control.databaseName, number);
    if (await hasDocuments(database)) found.push(database.databaseName);
  }
  return found;
}
