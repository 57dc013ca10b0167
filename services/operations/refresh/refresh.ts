import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from 'mongodb';
import {
  generationOf,
  generationsOf,
  RebuildRefused,
  requireVersion,
} from '../../../shared/control/generations.ts';
import { readRefresh, type Refresh, removeRefresh, saveRefresh } from '../../../shared/control/refreshes.ts';
import { changeRegistry, requireRegistry } from '../../../shared/control/registry.ts';
import type { Kind } from '../../../shared/documents/resources.ts';
import { counted, digits } from '../../../shared/runtime/counted.ts';
import { release } from '../../../shared/runtime/release.ts';
import { collectionOf, generationDatabase, requireWritable } from '../../../shared/store/connection.ts';
import { mongoStore, readWhole } from '../../projector/materialize/mongo-store.ts';
import type { OperatorDeps } from '../deps.ts';
import { compared, comparedFields } from '../rebuild/differences.ts';
import { recordNote } from '../rebuild/transitions.ts';
import { type RefreshDeps, refreshDocuments, type Refreshed } from './refresh-documents.ts';

export type RefreshOptions = {
  /** The documents to refresh; all of the kind if absent. */
  ids?: string[] | undefined;
  dryRun: boolean;
  /** At most this many documents a second; as fast as it goes if absent. */
  pace?: number | undefined;
  /** Begins with the first document, even if an earlier refresh of all was interrupted. */
  fromStart?: boolean | undefined;
  why: string;
};

export type RefreshResult = {
  generation: number;
  kind: Kind;
  dryRun: boolean;
  /** Where an interrupted refresh was continued; null if this one began with the first document. */
  continuedAfter: string | null;
  /** Documents that were read, also before an interruption. */
  read: number;
  /** Documents that were wrong. A dry run has not written them. */
  changed: number;
  /** How many documents were wrong in a field, such as `joined.requester`. */
  fields: Record<string, number>;
  /** The first of the wrong documents. */
  samples: { id: string; fields: string[] }[];
  /** Documents that stay wrong. */
  left: number;
  /** The first of those, and why. */
  leftSamples: { id: string; reason: string }[];
  /** Ids that name no living document; of a refresh of all, none. */
  absent: string[];
};

type Deps = Pick<OperatorDeps, 'mongo' | 'control' | 'now' | 'by' | 'report'> & {
  config: Pick<OperatorDeps['config'], 'DATABASE_NAME'>;
};

/** Documents at a time. Limits memory, and the work that an interruption repeats. */
export const batchSize = 200;
const samplesMax = 20;
const reportEveryMs = 2_000;
/** An interrupted refresh that is older begins again: the documents that it has read may have become wrong since. */
const continuedWithinMs = 3_600_000;

/**
 * Joins documents of the served generation again, beside its projectors, and writes those that are wrong. Neither
 * stops readers nor projectors. A refresh of all that is interrupted continues after its last batch, if the same
 * release runs it again within an hour.
 */
export async function refresh(deps: Deps, kind: Kind, options: RefreshOptions): Promise<RefreshResult> {
  const { ids, dryRun } = options;
  const registry = await requireRegistry(deps.control);
  const generation = registry.generation;
  requireVersion(generationOf(registry, generation));
  // A user who may not store the history is refused before the first write.
  if (!dryRun) await requireWritable(generationsOf(deps.control));
  const database = generationDatabase(deps.mongo, deps.config.DATABASE_NAME, generation);
  const result: RefreshResult = { ...nothingYet(), generation, kind, dryRun };
  if (ids) await refreshIds(deps, database, result, [...new Set(ids)], options);
  else await refreshAll(deps, database, result, options);
  const isWorthNoting = !ids || result.changed > 0 || result.left > 0;
  if (!dryRun && isWorthNoting) await recordRefresh(deps, result, options.why);
  return result;
}

const nothingYet = () => ({
  continuedAfter: null,
  read: 0,
  changed: 0,
  fields: {},
  samples: [],
  left: 0,
  leftSamples: [],
  absent: [],
});

async function refreshIds(
  deps: Deps,
  database: Db,
  result: RefreshResult,
  ids: string[],
  { dryRun, pace }: RefreshOptions,
): Promise<void> {
  const keepPace = createPace(pace);
  for (let start = 0; start < ids.length; start += batchSizeAt(pace)) {
    const batch = ids.slice(start, start + batchSizeAt(pace));
    const refreshed = await refreshBatch(deps, database, result, batch, dryRun);
    result.absent.push(...refreshed.absent);
    await keepPace(batch.length);
  }
}

/** Saves how far it has come after each batch, and removes that at its end. */
async function refreshAll(deps: Deps, database: Db, result: RefreshResult, options: RefreshOptions) {
  const { dryRun, pace } = options;
  const key = { control: deps.control, generation: result.generation, kind: result.kind };
  const startedAt = await deps.now();
  const before = dryRun || options.fromStart ? null : await readRefresh(key);
  const continued = before && isContinued(before, startedAt) ? before : null;
  if (continued) continueFrom(deps, result, continued);
  const total = await collectionOf(database, result.kind).estimatedDocumentCount();
  // Documents that come later are joined by the projectors of this release.
  const last = await lastId(database, result.kind);
  const keepPace = createPace(pace);
  const reportProgress = createProgress(deps.report, result, total);
  for (let after = result.continuedAfter ?? ''; ;) {
    const ids = await pageOfIds(database, result.kind, { after, last }, batchSizeAt(pace));
    const next = ids.at(-1);
    if (next === undefined) break;
    await refreshBatch(deps, database, result, ids, dryRun);
    after = next;
    if (!dryRun) {
      const { read, changed, left } = result;
      const progress = { release, after, read, changed, left, savedAt: await deps.now() };
      await saveRefresh(key, { startedAt: continued?.startedAt ?? startedAt, ...progress });
    }
    reportProgress();
    await keepPace(ids.length);
  }
  if (!dryRun) await removeRefresh(key);
}

const isContinued = (before: Refresh, now: Date): boolean =>
  before.release === release && now.getTime() - before.savedAt.getTime() < continuedWithinMs;

function continueFrom(
  { report }: Deps,
  result: RefreshResult,
  { after, read, changed, left, startedAt }: Refresh,
): void {
  Object.assign(result, { continuedAfter: after, read, changed, left });
  const done = `${digits(read)} read, ${digits(changed)} changed, ${digits(left)} left since ${startedAt.toISOString()}`;
  report(`continues the interrupted refresh after ${after}: ${done}; --from-start begins again`);
}

/** Refreshes some documents, and adds the outcome to the result. */
async function refreshBatch(deps: Deps, database: Db, result: RefreshResult, ids: string[], dryRun: boolean) {
  await requireServed(deps, result.generation);
  const at = await deps.now();
  const refreshed = await refreshDocuments(engineOf(database, at), result.kind, ids, { dryRun });
  addBatch(result, refreshed, ids.length);
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
    `generation ${registry.generation} is served now, no longer ${generation}: refresh it, if need be`,
    'rebuild status',
  );
}

function addBatch(result: RefreshResult, { changed, left }: Refreshed, read: number): void {
  result.read += read;
  result.changed += changed.size;
  result.left += left.size;
  for (const [id, fields] of changed) {
    for (const field of fields) result.fields[field] = (result.fields[field] ?? 0) + 1;
    if (result.samples.length < samplesMax) result.samples.push({ id, fields });
  }
  for (const [id, reason] of left)
    if (result.leftSamples.length < samplesMax) result.leftSamples.push({ id, reason });
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

/** A slow pace has smaller batches, so that no second has much more than its share. */
const batchSizeAt = (pace = batchSize): number => Math.min(batchSize, Math.max(1, Math.ceil(pace)));

/**
 * Returns a function to call after each batch. It waits until the next one keeps the pace. Time that a slow MongoDB has
 * taken is not made up for: a burst would meet it just when it has recovered.
 */
export function createPace(pace: number | undefined, nowMs = () => performance.now(), wait = sleep) {
  let dueMs = nowMs();
  return async (count: number): Promise<void> => {
    if (pace === undefined) return;
    dueMs += (count / pace) * 1_000;
    const waitMs = dueMs - nowMs();
    if (waitMs > 0) await wait(waitMs);
    else dueMs = nowMs();
  };
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

/** Writes the refresh to the history of its generation. */
async function recordRefresh(
  deps: Deps,
  { generation, kind, read, changed, left }: RefreshResult,
  why: string,
) {
  const outcome = `${digits(changed)} of ${counted(read, `${kind} document`)} changed`;
  const text = `refreshed: ${outcome}${left > 0 ? `, ${digits(left)} left as they are` : ''}; ${why}`;
  const cause = { by: deps.by, at: await deps.now(), why: text };
  await changeRegistry(deps.control, recordNote(generation, cause));
}
