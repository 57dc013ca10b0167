import type { Db } from 'mongodb';
import { generationOf } from '../../../shared/control/generations.ts';
import { forgetOtherRefreshes } from '../../../shared/control/refreshes.ts';
import { requireRegistry } from '../../../shared/control/registry.ts';
import type { Kind } from '../../../shared/documents/resources.ts';
import { counted, digits } from '../../../shared/runtime/counted.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { joinedBy } from '../../projector/joined-by.ts';
import type { OperatorDeps } from '../deps.ts';
import { type CompareOptions, documentsIn, type PairSource, recheckAll } from '../rebuild/compare.ts';
import type { Difference, DifferenceClass } from '../rebuild/differences.ts';
import { batchSize } from './pace.ts';
import { engineOf } from './refresh.ts';
import { refreshDocuments } from './refresh-documents.ts';
import { writeNote } from './write-note.ts';

export type Repair = {
  /** Documents that were wrong and are right now. */
  repaired: number;
  /** The differences that are left. */
  remaining: Difference[];
  /** Why documents could not be refreshed: MongoDB refuses them, for one. */
  left: { id: string; reason: string }[];
};

type Repaired = Pick<OperatorDeps, 'control' | 'now' | 'by'> & {
  generation: number;
  database: Db;
  source: PairSource;
  options: CompareOptions;
};

/**
 * The classes of fields that a join sets. A document that should not exist, or that an edit has broken, is left to
 * its events.
 */
export const joinedClasses: ReadonlySet<string> = new Set<DifferenceClass>([
  'joined',
  'refs',
  'sort-key',
  'pending',
]);

/** Refreshes the documents of a generation that differ from their fresh join, and compares them again. */
export async function repair(deps: Repaired, differing: Difference[]): Promise<Repair> {
  const joinable = differing.filter((one) => joinedClasses.has(one.class));
  const note = (text: string) => writeNote(deps, deps.generation, `verify --repair${text}`);
  if (joinable.length > 0) await forgetOtherRefreshes(deps.control, deps.generation, joinedBy);
  const done: Done = { changed: 0, left: [] };
  try {
    for (const [kind, ids] of idsByKind(joinable)) await joinAgainInBatches(deps, kind, ids, done);
  } catch (error) {
    if (done.changed > 0)
      await note(` stopped (${errorMessage(error)}): ${counted(done.changed, 'document')} changed`).catch(
        () => undefined,
      );
    throw error;
  }
  const remaining = await recheckAll(deps.source, differing, deps.options);
  const stillWrong = documentsIn(remaining);
  const repaired = documentsIn(differing) - stillWrong;
  if (joinable.length > 0)
    await note(`: ${counted(repaired, 'document')} repaired, ${stillWrong} still wrong`);
  return { repaired, remaining, left: done.left };
}

/** The work of a repair so far: documents that were written, and why others could not be. */
type Done = { changed: number; left: Repair['left'] };

async function joinAgainInBatches(deps: Repaired, kind: Kind, ids: string[], done: Done): Promise<void> {
  const { control, database, generation, now, options } = deps;
  for (let start = 0; start < ids.length; start += batchSize) {
    // Throws once the generation is being dropped.
    generationOf(await requireRegistry(control), generation);
    const some = ids.slice(start, start + batchSize);
    const refreshed = await refreshDocuments(engineOf(database, await now()), kind, some, { dryRun: false });
    done.changed += refreshed.changed.size;
    for (const [id, reason] of refreshed.left) done.left.push({ id, reason });
    options.report(`${kind}: ${digits(start + some.length)} of ${digits(ids.length)} joined again`);
  }
}

/** The ids of differing documents, each once. */
function idsByKind(differences: Difference[]): Map<Kind, string[]> {
  const byKind = Map.groupBy(differences, ({ kind }) => kind);
  return new Map([...byKind].map(([kind, some]) => [kind, [...new Set(some.map(({ id }) => id))]]));
}
