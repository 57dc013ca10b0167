import type { Db } from 'mongodb';
import { generationOf, RebuildRefused } from '../../../shared/control/generations.ts';
import {
  compareWithManifest,
  createCollection,
  describeLost,
  type LostCollection,
  manifestOf,
} from '../../../shared/control/manifest.ts';
import { readWatermark } from '../../../shared/control/progress.ts';
import { changeRegistry, replaceListed, requireRegistry } from '../../../shared/control/registry.ts';
import { generationDatabase } from '../../../shared/store/connection.ts';
import { readCollections } from '../../../shared/store/structures.ts';
import type { OperatorDeps } from '../deps.ts';
import type { Acceptable } from './acceptable.ts';

type LostDeps = Pick<OperatorDeps, 'control' | 'mongo'> & {
  config: Pick<OperatorDeps['config'], 'DATABASE_NAME'>;
};

/**
 * Reads which collections of the control database and of a generation are gone or replaced. The acceptance takes the
 * existing collections as they are, and creates a lost collection of the control database empty. Throws
 * `RebuildRefused` if the progress or documents are gone: from an empty collection the API would answer as if they had
 * never existed.
 */
export async function readAcceptableLosses(deps: LostDeps, number: number): Promise<Acceptable> {
  const { control, mongo, config } = deps;
  const registry = await requireRegistry(control);
  const database = generationDatabase(mongo, config.DATABASE_NAME, number);
  const { manifest } = generationOf(registry, number);
  const controlCollections = await readCollections(control);
  const documentCollections = await readCollections(database);
  const controlLosses = compareWithManifest(control.databaseName, registry.manifest, controlCollections);
  const documentLosses = compareWithManifest(database.databaseName, manifest, documentCollections);
  const gone = controlLosses.filter(({ loss }) => loss === 'gone');
  const irreplaceable = [
    ...gone.filter(({ collection }) => collection === 'progress'),
    ...documentLosses.filter(({ loss }) => loss === 'gone'),
  ];
  if (irreplaceable.length > 0)
    throw new RebuildRefused(
      `nothing is accepted, because ${describeLost(irreplaceable)}: restore it first, or rebuild`,
      'rebuild start',
    );
  return {
    seen: [
      ...controlLosses.map(controlLossText),
      ...(await restoredDocumentTexts(database, documentLosses, await readWatermark(control, number))),
    ],
    apply: async () => {
      for (const { collection } of gone) await createCollection(control, collection);
      const added = manifestOf(
        await readCollections(control),
        gone.map(({ collection }) => collection),
      );
      // A collection that was created again since the operator saw it stays lost.
      const seenControlCollections = new Map([...controlCollections, ...Object.entries(added)]);
      await changeRegistry(control, replaceListed(number, seenControlCollections, documentCollections));
    },
  };
}

function controlLossText({ database, collection, loss }: LostCollection): string {
  const name = `${database}.${collection}`;
  if (loss === 'other') return `${name} counts as it is now`;
  const keysWork =
    collection === 'blocked_keys' ? ', and blocked keys work until they are blocked again' : '';
  return `${name} is created empty: its content is lost${keysWork}`;
}

/**
 * Describes the age of restored documents beside the watermark, so an operator can see whether the backup is too old. A
 * newer document does not prove that the others contain every change up to the watermark.
 */
async function restoredDocumentTexts(database: Db, lost: LostCollection[], completeTo: Date | null) {
  const texts: string[] = [];
  for (const { collection } of lost) {
    const [newest] = await database
      .collection<{ state?: { updatedAt?: Date } }>(collection)
      .find({}, { projection: { 'state.updatedAt': 1 } })
      .sort({ 'state.updatedAt': -1 })
      .limit(1)
      .toArray();
    const count = await database.collection(collection).estimatedDocumentCount();
    texts.push(
      `${database.databaseName}.${collection} counts as it is now: about ${count} documents, the newest state of ` +
        `${newest?.state?.updatedAt?.toISOString() ?? 'an unknown time'}, while Data-As-Of is ` +
        `${completeTo?.toISOString() ?? 'unknown'}. Changes between the backup and the saved progress are not applied again: if ` +
        'the backup of the documents is older than that of the control database, rebuild',
    );
  }
  return texts;
}
