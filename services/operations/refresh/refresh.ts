import type { Db } from 'mongodb';
import {
  type Generation,
  generationOf,
  generationsOf,
  RebuildRefused,
  requireVersion,
} from '../../../shared/control/generations.ts';
import { forgetOtherRefreshes } from '../../../shared/control/refreshes.ts';
import { requireRegistry } from '../../../shared/control/registry.ts';
import type { Kind } from '../../../shared/documents/resources.ts';
import { counted, digits } from '../../../shared/runtime/counted.ts';
import { errorMessage } from '../../../shared/runtime/error-message.ts';
import { collectionOf, generationDatabase, requireWritable } from '../../../shared/store/connection.ts';
import { joinedBy } from '../../projector/joined-by.ts';
import { mongoStore, readWhole } from '../../projector/materialize/mongo-store.ts';
import type { OperatorDeps } from '../deps.ts';
import { compared, comparedFields } from '../rebuild/differences.ts';
import { requireStructures } from '../structures.ts';
import { batchSizeAt, createPace } from './pace.ts';
import { type RefreshDeps, refreshDocuments, type Refreshed } from './refresh-documents.ts';
import { addBatch, nothingYet, type RefreshResult } from './result.ts';
import { requireSameJoins } from './same-joins.ts';
import { openProgress } from './saved-progress.ts';
import { writeNote } from './write-note.ts';

export type RefreshOptions = {
  /** The documents to refresh; all of the kind if absent. */
  ids?: string[] | undefined;
  dryRun: boolean;
  /** At most this many documents a second; as fast as it goes if absent. */
  pace?: number | undefined;
  /** Begins with the first document, even if an earlier refresh of all was interrupted. */
  fromStart?: boolean | undefined;
  /** How long projectors that join documents in another way may take to end. */
  timeoutSeconds: number;
  why: string;
};

type Deps = Pick<OperatorDeps, 'mongo' | 'control' | 'now' | 'by' | 'report'> & {
  config: Pick<OperatorDeps['config'], 'DATABASE_NAME'>;
};

/** One run of the verb. */
type Run = {
  deps: Deps;
  kind: Kind;
  options: RefreshOptions;
  /** The database of the served generation. */
  database: Db;
  /** Its findings and its work so far. */
  result: RefreshResult;
};

const reportEveryMs = 2_000;
/** A note in the history names at most this many documents. */
const idsNamedMax = 5;

/**
 * Joins documents of the served generation again, beside its projectors, and writes those that are wrong. Neither
 * stops readers nor projectors. A refresh of all that is interrupted continues after its last batch, if the same
 * code runs it again within an hour.
 */
export async function refresh(deps: Deps, kind: Kind, options: RefreshOptions): Promise<RefreshResult> {
  const registry = await requireRegistry(deps.control);
  const served = generationOf(registry, registry.generation);
  requireVersion(served);
  await requireStructures(deps.control, served);
  const database = generationDatabase(deps.mongo, deps.config.DATABASE_NAME, served.number);
  const result = { ...nothingYet(), generation: served.number, kind, dryRun: options.dryRun };
  const run: Run = { deps, kind, options, database, result };
  if (options.dryRun) await refreshChosen(run);
  else await refreshAndRecord(run, served);
  return result;
}

/** Writes the refresh to the history, also one that fails. */
async function refreshAndRecord(run: Run, served: Generation): Promise<void> {
  const { deps, kind, options, result } = run;
  const note = (text: string) => writeNote(deps, served.number, `${text}; ${options.why}`);
  await requireSameJoins(deps, served.number, options.timeoutSeconds);
  await forgetOtherRefreshes(deps.control, served.number, joinedBy);
  // A user who may not store the history is refused before the first write.
  if (options.ids) await requireWritable(generationsOf(deps.control));
  else await note(`refreshing every ${kind} document`);
  try {
    await refreshChosen(run);
    // A projector of other code may have started after the first look, and have saved its progress since.
    await requireSameJoins(deps, served.number, 0);
  } catch (error) {
    if (result.changed > 0)
      await note(`refresh stopped (${errorMessage(error)}): ${outcomeOf(run)}`).catch(() => undefined);
    throw error;
  }
  const isWorthNoting = !options.ids || result.changed > 0 || result.left > 0;
  if (isWorthNoting) await note(`refreshed: ${outcomeOf(run)}`);
}

const refreshChosen = (run: Run): Promise<void> =>
  run.options.ids ? refreshIds(run, [...new Set(run.options.ids)]) : refreshAll(run);

function outcomeOf({ kind, options: { ids }, result: { read, changed, left } }: Run): string {
  const named = ids ? ` (${firstOf(ids)})` : '';
  const leftAsTheyAre = left > 0 ? `, ${digits(left)} left as they are` : '';
  return `${digits(changed)} of ${counted(read, `${kind} document`)}${named} changed${leftAsTheyAre}`;
}

/** The first of some ids; the history is one document of MongoDB, which bounds its length. */
function firstOf(ids: string[]): string {
  const more = ids.length - idsNamedMax;
  return ids.slice(0, idsNamedMax).join(', ') + (more > 0 ? ` and ${digits(more)} more` : '');
}

async function refreshIds(run: Run, ids: string[]): Promise<void> {
  const { options, result } = run;
  const keepPace = createPace(options.pace);
  const size = batchSizeAt(options.pace);
  for (let start = 0; start < ids.length; start += size) {
    const batch = ids.slice(start, start + size);
    const { absent } = await refreshBatch(run, batch);
    result.absent.push(...absent);
    result.read += batch.length - absent.length;
    await keepPace(batch.length);
  }
}

async function refreshAll(run: Run): Promise<void> {
  const { deps, kind, options, database, result } = run;
  const progress = options.dryRun ? null : await openProgress(deps, result, options.fromStart);
  const total = await collectionOf(database, kind).estimatedDocumentCount();
  // Documents that come later are joined by the projectors of this release.
  const last = await lastId(database, kind);
  const keepPace = createPace(options.pace);
  const reportProgress = createProgress(deps.report, result, total);
  for (let after = result.continuedAfter ?? ''; ;) {
    const ids = await pageOfIds(database, kind, { after, last }, batchSizeAt(options.pace));
    const next = ids.at(-1);
    if (next === undefined) break;
    await refreshBatch(run, ids);
    result.read += ids.length;
    after = next;
    await progress?.save(after);
    reportProgress();
    await keepPace(ids.length);
  }
  await progress?.remove();
}

/** Refreshes some documents, and adds the outcome to the result, but for the documents that were read. */
async function refreshBatch(
  { deps, kind, options, database, result }: Run,
  ids: string[],
): Promise<Refreshed> {
  await requireServed(deps, result.generation);
  const at = await deps.now();
  const refreshed = await refreshDocuments(engineOf(database, at), kind, ids, options);
  addBatch(result, refreshed);
  return refreshed;
}

/** The engine's store, and whole documents, in one database. */
export const engineOf = (database: Db, at: Date): RefreshDeps => ({
  store: mongoStore(database),
  now: () => at,
  readDocuments: async (kind, ids) => {
    const { found, remaining } = await readWhole(database, kind, ids, comparedFields);
    return { documents: found.map(compared), remaining };
  },
});

/** Refuses to go on once another generation is served: the rest of this one is of no use to readers. */
async function requireServed({ control }: Deps, generation: number): Promise<void> {
  const registry = await requireRegistry(control);
  if (registry.generation === generation) return;
  throw new RebuildRefused(
    `generation ${registry.generation} is served now, no longer ${generation}. See which one to refresh`,
    'rebuild status',
  );
}

async function pageOfIds(
  database: Db,
  kind: Kind,
  { after, last }: { after: string; last: string },
  limit: number,
): Promise<string[]> {
  const found = await collectionOf<{ _id: string }>(database, kind)
    .find({ _id: { $gt: after, $lte: last } }, { sort: { _id: 1 }, limit, batchSize: limit + 1 })
    .project<{ _id: string }>({ _id: 1 })
    .toArray();
  return found.map(({ _id }) => _id);
}

/** The last id of a kind; '' without documents. */
async function lastId(database: Db, kind: Kind): Promise<string> {
  const found = await collectionOf<{ _id: string }>(database, kind).findOne(
    {},
    { sort: { _id: -1 }, projection: { _id: 1 } },
  );
  return found?._id ?? '';
}

/** Returns a function to call after each batch. It reports the progress every two seconds. */
function createProgress(report: Deps['report'], result: RefreshResult, total: number) {
  const startMs = performance.now();
  const readBefore = result.read;
  let reportedMs = startMs;
  return (): void => {
    const nowMs = performance.now();
    if (nowMs - reportedMs < reportEveryMs) return;
    reportedMs = nowMs;
    const { kind, read, changed, dryRun } = result;
    const perSecond = (read - readBefore) / ((nowMs - startMs) / 1_000);
    const secondsLeft = Math.ceil(Math.max(0, total - read) / perSecond);
    report(
      `${kind}: ${digits(read)} of about ${digits(total)} read, ${digits(changed)} ${dryRun ? 'would change' : 'changed'}, ` +
        `${digits(perSecond)} a second, ${digits(secondsLeft)} s left`,
    );
  };
}
