import type { Db } from 'mongodb';
import {
  CollectionsLost,
  ensureRegistry,
  type Generation,
  generationOf,
  type GenerationRegistry,
  requireVersion,
} from '../../../shared/control/generations.ts';
import { ensureDeadLetterIndexes } from '../../../shared/control/ledger-store.ts';
import { readDocumentCollections, readLost } from '../../../shared/control/manifest.ts';
import { progressOf } from '../../../shared/control/progress.ts';
import { addToManifest, changeRegistry, requireRegistry } from '../../../shared/control/registry.ts';
import { generationDatabase } from '../../../shared/store/connection.ts';
import { builtByMajority, ensureIndexes, tryIndexes } from '../../../shared/store/indexes.ts';
import type { OnWait } from './wait-until.ts';

/** The time after which the start logs that it waits for the indexes, in milliseconds. */
const slowBuildMs = 5_000;

/**
 * Returns the generation to follow; by default the active one. If there is no read model yet, a start registers the
 * first generation. A trial fails instead, because the name of the database may be wrong.
 */
export async function openRegistry(
  control: Db,
  wanted: number | undefined,
  isTrial: boolean,
): Promise<Generation> {
  const registry = await (isTrial ? requireRegistry(control) : ensureRegistry(control));
  const followed = generationOf(registry, wanted ?? registry.generation);
  requireVersion(followed);
  await requireCollections(control, registry, followed);
  return followed;
}

type IndexDeps = {
  control: Db;
  registered: Generation;
  /** The documents of the generation. */
  database: Db;
  isTrial: boolean;
  onWait: OnWait;
};

/** Creates the missing indexes, but not in a trial. Rejects if an existing index conflicts with a declared one. */
export async function openIndexes({ control, registered, database, isTrial, onWait }: IndexDeps) {
  if (isTrial) return tryIndexes(database);
  const building = ['MongoDB is building indexes', 'a majority of its members must'] as const;
  const slow = setTimeout(onWait, slowBuildMs, ...building);
  try {
    await ensureIndexes(database);
    await changeRegistry(control, addToManifest(registered.number, await readDocumentCollections(database)));
    await ensureControlIndexes(control);
  } finally {
    clearTimeout(slow);
  }
}

/**
 * Throws `CollectionsLost` if a listed collection is gone or replaced. Otherwise a new collection would hide the loss.
 */
async function requireCollections(control: Db, registry: GenerationRegistry, followed: Generation) {
  const database = generationDatabase(control.client, control.databaseName, followed.number);
  const lost = [
    ...(await readLost(control, registry.manifest)),
    ...(await readLost(database, followed.manifest)),
  ];
  if (lost.length > 0) throw new CollectionsLost(lost);
}

/** Creates the missing indexes of the control database. */
export async function ensureControlIndexes(control: Db): Promise<void> {
  const index = { name: 'completeTo', key: { generation: 1, completeTo: 1 } } as const;
  await progressOf(control).createIndexes([index], builtByMajority);
  await ensureDeadLetterIndexes(control);
}
