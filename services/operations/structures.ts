import type { Db } from 'mongodb';
import { type Generation, RebuildRefused } from '../../shared/control/generations.ts';
import { generationDatabase } from '../../shared/store/connection.ts';
import {
  declaredIndexes,
  describeIndexFault,
  type IndexFault,
  indexFaults,
} from '../../shared/store/structures.ts';

/** The database of a generation, and its indexes that are missing or hidden. */
export type StructureFacts = { database: string; faults: IndexFault[] };

/** Reads which indexes a generation lacks; of one that is being dropped, all may be gone. */
export async function readStructures(
  { client, databaseName }: Db,
  { number, state }: Pick<Generation, 'number' | 'state'>,
): Promise<StructureFacts> {
  const database = generationDatabase(client, databaseName, number);
  const faults = state === 'dropping' ? [] : await indexFaults(database, declaredIndexes);
  return { database: database.databaseName, faults };
}

/** Refuses a generation that lacks a collection: its documents would count as absent, and joins would lose them. */
export async function requireStructures(control: Db, generation: Generation): Promise<void> {
  const { database, faults } = await readStructures(control, generation);
  const missing = faults.find(({ is }) => is === 'missing');
  if (missing)
    throw new RebuildRefused(`the database ${database} lacks ${describeIndexFault(missing)}`, 'status');
}
