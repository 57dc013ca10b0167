import { type Db, MongoServerError } from 'mongodb';
import { generationDatabase } from '../store/connection.ts';
import { hasDocument, hasDocuments, listGenerationDatabases } from '../store/generation-databases.ts';
import { type Collections, documentCollections, readCollections } from '../store/structures.ts';

/** The collections of a database that must exist, each with the id that MongoDB gave it when it was created. */
export type Manifest = Record<string, string>;

/**
 * The collections of the control database whose content no process can restore. A projector restores a lost watermark,
 * Kafka has the bytes of dead letters, and the other collections contain announcements and traces.
 */
const controlCollections = ['generations', 'progress', 'blocked_keys', 'log_gaps', 'dead_letters'] as const;

/** The collections of the control database that decide the answers of the API. */
export const collectionsOfAnswers: readonly string[] = ['generations', 'blocked_keys'];

/**
 * A listed collection that is gone, or is another one than before: an operator has restored it or created it again, so
 * it has another id.
 */
export type LostCollection = { database: string; collection: string; loss: 'gone' | 'other' };

/**
 * The collections of the manifest that are gone or have another id. The id decides, because a name can be reused and a
 * missing collection reads as empty. Before a projector has started on the database, no manifest exists, and nothing
 * counts as lost.
 */
export function compareWithManifest(
  database: string,
  manifest: Manifest | undefined,
  found: Collections,
): LostCollection[] {
  return Object.entries(manifest ?? {}).flatMap(([collection, id]): LostCollection[] => {
    const present = found.get(collection);
    if (present === undefined) return [{ database, collection, loss: 'gone' }];
    // A MongoDB-compatible store may have no ids.
    const isSame = present === id || present === '' || id === '';
    return isSame ? [] : [{ database, collection, loss: 'other' }];
  });
}

/** Reads which collections of the manifest a database has lost. */
export const readLost = async (database: Db, manifest: Manifest | undefined): Promise<LostCollection[]> =>
  compareWithManifest(database.databaseName, manifest, await readCollections(database));

/** `support_g1.tickets is gone, support_g1.qas is another collection than before`. */
export const describeLost = (lost: LostCollection[]): string =>
  lost
    .map(({ database, collection, loss }) =>
      loss === 'gone'
        ? `${database}.${collection} is gone`
        : `${database}.${collection} is another collection`,
    )
    .join(', ');

/** Creates the collections of the control database that do not exist. Returns the manifest of all. */
export async function createControlCollections(control: Db): Promise<Manifest> {
  const existing = await readCollections(control);
  for (const name of controlCollections) {
    if (!existing.has(name)) await createCollection(control, name);
  }
  return manifestOf(await readCollections(control), controlCollections);
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

/** The manifest of a generation's database, whose collections exist. */
export const readDocumentCollections = async (database: Db): Promise<Manifest> =>
  manifestOf(await readCollections(database), documentCollections);

/** The manifest of the named collections that exist, with their present ids. */
export const manifestOf = (found: Collections, names: readonly string[]): Manifest =>
  Object.fromEntries(names.flatMap((name) => (found.has(name) ? [[name, found.get(name) ?? '']] : [])));

/**
 * The collections of the control database and the databases of generations that have a part of a read model. Empty
 * collections do not count, because an operator may have created sharded ones before the first start.
 */
export async function findReadModel(control: Db): Promise<string[]> {
  const found: string[] = [];
  for (const name of [...controlCollections, 'watermarks']) {
    if (await hasDocument(control.collection(name))) found.push(name);
  }
  for (const number of new Set([1, ...(await listGenerationDatabases(control))])) {
    const database = generationDatabase(control.client, control.databaseName, number);
    if (await hasDocuments(database)) found.push(database.databaseName);
  }
  return found;
}
