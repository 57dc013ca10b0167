import type { Collection, Db } from 'mongodb';
import { generationDatabase } from '../store/connection.ts';
import { hasDocuments, listGenerationDatabases } from '../store/generation-databases.ts';
import { blockedKeys, blocksMarkerId } from './blocked-keys.ts';
import { failuresOf } from './failures.ts';
import { ledgerOf } from './ledger-store.ts';
import { logGapsOf } from './log-gaps.ts';
import { progressOf, watermarksOf } from './progress.ts';
import { samplesOf } from './samples.ts';

/** A collection of the control database, or the database of a generation, that holds something of a read model. */
export type Remainder = {
  /** The name of the collection or of the database. */
  place: string;
  /** The generations that it is about, in ascending order; empty if it is about none in particular. */
  generations: number[];
};

/**
 * Finds everything that a read model has left under this database name. Empty collections do not count: the creation of
 * indexes, or of sharded collections beforehand, is no read model. Announcements of API replicas and request traces do
 * not count either, because the API writes them before there is one.
 */
export async function readRemains(control: Db): Promise<Remainder[]> {
  const inControl = await Promise.all([
    numbered(progressOf(control), ({ generation }) => generation),
    numbered(watermarksOf(control), ({ _id }) => _id),
    numbered(samplesOf(control), ({ generation }) => generation),
    numbered(failuresOf(control), ({ _id }) => _id),
    numbered(logGapsOf(control), ({ generation }) => generation),
    unnumbered(ledgerOf(control)),
    unnumbered(blockedKeys(control), blocksMarkerId),
  ]);
  const found = inControl.flatMap((one) => one ?? []);
  return [...found, ...(await databases(control, numbersOf(found)))];
}

/** The generations that remains are about, in ascending order. */
export const numbersOf = (remains: Remainder[]): number[] =>
  ascending(remains.flatMap(({ generations }) => generations));

/** `progress (generation 3, 4), dead_letters, support_g4 (generation 4)`. */
export const describeRemains = (remains: Remainder[]): string =>
  remains
    .map(({ place, generations }) =>
      generations.length === 0 ? place : `${place} (generation ${generations.join(', ')})`,
    )
    .join(', ');

const ascending = (numbers: number[]) => [...new Set(numbers)].toSorted((a, b) => a - b);

/** The documents of these collections are small and few. */
async function numbered<T extends { _id: string | number }>(
  collection: Collection<T>,
  numberOf: (one: T) => number,
): Promise<Remainder | null> {
  const documents = await collection
    .find({}, { projection: { generation: 1 } })
    .sort({ _id: 1 })
    .toArray();
  if (documents.length === 0) return null;
  return {
    place: collection.collectionName,
    generations: ascending(documents.map((one) => numberOf(one as T))),
  };
}

/** Whether the collection holds a document. `except` is an id that does not count. */
async function unnumbered<T extends { _id: string }>(
  collection: Collection<T>,
  except?: string,
): Promise<Remainder | null> {
  const ids = await collection
    .find({}, { projection: { _id: 1 } })
    .sort({ _id: 1 })
    .limit(2)
    .toArray();
  return ids.some(({ _id }) => _id !== except) ? { place: collection.collectionName, generations: [] } : null;
}

/**
 * The databases of generations with a document of an entity. `known` are generations that the control database names.
 */
async function databases(control: Db, known: number[]): Promise<Remainder[]> {
  const listed = await listGenerationDatabases(control);
  const found: Remainder[] = [];
  for (const number of ascending([1, ...known, ...listed])) {
    const database = generationDatabase(control.client, control.databaseName, number);
    if (await hasDocuments(database)) found.push({ place: database.databaseName, generations: [number] });
  }
  return found;
}
