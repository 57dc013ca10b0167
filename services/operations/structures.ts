import type { Db } from 'mongodb';
import { CollectionsLost, type Generation, RebuildRefused } from '../../shared/control/generations.ts';
import { type LostCollection, readLost } from '../../shared/control/manifest.ts';
import { readProgress } from '../../shared/control/progress.ts';
import { type Kind, resources } from '../../shared/documents/resources.ts';
import { collectionOf, generationDatabase } from '../../shared/store/connection.ts';
import { hasDocument } from '../../shared/store/generation-databases.ts';
import {
  declaredIndexes,
  describeIndexFault,
  type IndexFault,
  readIndexFaults,
} from '../../shared/store/structures.ts';

/** The faults in the database of a generation. */
export type StructureFacts = {
  /** The name of the database. */
  database: string;
  /** The collections that are gone, or have been replaced. */
  lost: LostCollection[];
  /** The indexes that are missing or hidden. */
  faults: IndexFault[];
};

/**
 * Reads the faults in the database of a generation. A generation that is being dropped has none, because the drop
 * removes its collections and indexes.
 */
export async function readStructures(
  { client, databaseName }: Db,
  { number, state, manifest }: Pick<Generation, 'number' | 'state' | 'manifest'>,
): Promise<StructureFacts> {
  const database = generationDatabase(client, databaseName, number);
  const name = database.databaseName;
  if (state === 'dropping') return { database: name, lost: [], faults: [] };
  const lost = await readLost(database, manifest);
  const faults = await readIndexFaults(database, declaredIndexes);
  return { database: name, lost, faults: faults.filter(({ kind }) => !isLost(lost, kind)) };
}

/** Whether the collection of a kind is lost: the loss also explains its missing indexes. */
const isLost = (lost: LostCollection[], kind: IndexFault['kind']) =>
  lost.some(({ collection }) => collection === resources[kind].collection);

/**
 * Refuses a generation that lacks a collection or an index, because joins would treat its documents as absent. Also
 * refuses a generation that has applied records of a wanted kind but has no document of it, because a comparison of no
 * documents would find no difference. A deleted entity leaves a document for some time.
 */
export async function requireWhole(
  control: Db,
  generation: Generation,
  wanted: readonly Kind[],
): Promise<void> {
  const { number } = generation;
  const { database: name, lost, faults } = await readStructures(control, generation);
  if (lost.length > 0) throw new CollectionsLost(lost);
  const missing = faults.find(({ fault }) => fault === 'missing');
  if (missing)
    throw new RebuildRefused(`the database ${name} lacks ${describeIndexFault(missing)}`, 'status');
  const database = generationDatabase(control.client, control.databaseName, number);
  const progress = await readProgress(control, number);
  const begun = progress.filter(({ applied }) => applied.position > 0);
  for (const kind of wanted) {
    const records = begun.find(({ topic }) => topic.endsWith(resources[kind].topic));
    if (!records || (await hasDocument(collectionOf(database, kind)))) continue;
    throw new RebuildRefused(
      `generation ${number} has no ${kind} document, although records of ${records.topic} were applied: unless all of them ` +
        'were deleted long ago, they are lost: restore them or rebuild (docs/recover.md)',
    );
  }
}
