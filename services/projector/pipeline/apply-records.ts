import type { Kind } from '../../../shared/documents/resources.ts';
import { projectorError, type Rejection } from '../../../shared/control/rejections.ts';
import type { Rejected } from '../dead-letters/dead-letter.ts';
import type { Applied, Chunk, Watch } from '../hand-over.ts';
import { eraseDeadLetters, erasuresAmong } from '../dead-letters/erase.ts';
import { storeDeadLetters, type StoreDeadLettersDeps } from '../dead-letters/store-dead-letters.ts';
import type { Change } from '../events/change.ts';
import { topicOf } from '../../../shared/kafka/topics.ts';
import {
  applyTogether,
  completeBatch,
  type Batch,
  type Outcome,
  type UpdateDeps,
} from '../materialize/fan-out.ts';
import type { ReconcileDeps } from '../materialize/reconcile.ts';
import type { Stall } from '../materialize/rounds.ts';
import { isolate } from './isolate.ts';
import { parseRecord } from './parse-record.ts';

export type ApplyDeps = ReconcileDeps & StoreDeadLettersDeps;

/** A chunk of one partition, and who watches it. */
export type RecordBatch = Omit<Chunk, 'topic'> & { kind: Kind; watch: Watch };

/**
 * Applies batches of records together. Returns a function for each, which completes it: when that returns, the effect of
 * each of its records is durable, or the record is stored as a dead letter: Invariants 13 and 14 in
 * docs/internals/retention.md.
 */
export async function applyRecords(
  deps: ApplyDeps,
  batches: RecordBatch[],
): Promise<(() => Promise<Applied>)[]> {
  const completing = await applyParsed(deps, batches);
  return completing.map((complete) => async () => {
    const { kind, changes, rejected } = await complete();
    const topic = topicOf(kind, deps.prefix);
    const { stored, counted } = await storeDeadLetters(deps, topic, rejected);
    for (const { record, rejection, error } of rejected.filter(isProjectorError))
      deps.onProjectorError?.({ ...record.position, topic }, rejection.detail, error);
    // A counted one has nothing to erase.
    await eraseDeadLetters(deps, await erasuresAmong(deps.store, kind, { changes, rejected: stored }));
    return {
      events: changes.length,
      rejected: [...stored, ...counted].map(({ rejection }) => rejection.reason),
      times: changes.map(({ time }) => time.getTime()),
    };
  });
}

const never = new AbortController().signal;

/**
 * Parses the records and applies their changes. Each returned function completes a batch, and returns the changes that took
 * effect and the records that were rejected.
 */
export async function applyParsed(deps: ReconcileDeps, batches: RecordBatch[]) {
  const parsed = batches.map((batch) => ({ ...batch, ...parseAll(batch) }));
  const [first, ...others] = batches;
  const onProgress = () => batches.forEach(({ watch }) => watch.onProgress());
  // A batch whose partition is revoked is applied with the others: its writes are guarded.
  const watch: Watch = first && others.length === 0 ? first.watch : { signal: never, onProgress };
  const onStalled = first && others.length === 0 ? reportTo(deps, first) : giveUp;
  const outcome = await applyIsolated({ ...deps, ...watch, onStalled }, parsed);
  return parsed.map((batch) => async () => {
    const { kind, records, rejected } = batch;
    const batchDeps = { ...deps, ...batch.watch, onStalled: reportTo(deps, batch) };
    const { failed } = await isolate(batch.changes, (changes) =>
      completeBatch(batchDeps, { kind, changes }, outcome),
    );
    const rejections = [...outcome.rejections, ...failed.map(rejectionOf)];
    for (const { change, ...why } of rejections) {
      const record = records.find(({ position }) => position === change.position);
      if (record) rejected.push({ record, ...why });
    }
    const refused = new Set(rejections.map(({ change }) => change));
    return { kind, changes: batch.changes.filter((change) => !refused.has(change)), rejected };
  });
}

/** Of one batch, finds the changes for which the engine's code throws. Several fail together: the applier repeats each alone. */
async function applyIsolated(deps: UpdateDeps, batches: Batch[]): Promise<Outcome> {
  const [only, ...others] = batches;
  if (!only || others.length > 0) return applyTogether(deps, batches);
  const { kind } = only;
  const { done, failed } = await isolate(only.changes, (changes) => applyTogether(deps, [{ kind, changes }]));
  return {
    rejections: [...done.flatMap(({ rejections }) => rejections), ...failed.map(rejectionOf)],
    large: new Map([[kind, done.flatMap(({ large }) => large.get(kind) ?? [])]]),
  };
}

const rejectionOf = ({ change, error }: { change: Change; error: unknown }) => ({
  change,
  rejection: projectorError('engine', error),
  error,
});

const isProjectorError = ({ rejection }: { rejection: Rejection }): boolean =>
  rejection.reason === 'projector_error';

const reportTo =
  (deps: ReconcileDeps, { watch }: RecordBatch) =>
  (stall: Stall) => {
    deps.onStalled?.(stall);
    watch.onConflicting?.();
  };

/** One of several batches may be the cause: their applier then applies each by itself, and the others go on. */
function giveUp({ kind, ids, cause, rounds }: Stall): never {
  throw new Error(`${kind} documents are unfinished after ${rounds} rounds (${cause}): ${ids.join(', ')}`);
}

function parseAll({ kind, records, setAside }: RecordBatch) {
  const [changes, rejected]: [Change[], Rejected[]] = [[], []];
  for (const record of records) {
    const parsed = parseRecord(kind, record, setAside);
    if ('change' in parsed) changes.push(parsed.change);
    else rejected.push({ record, rejection: parsed.rejected, error: parsed.error });
  }
  return { changes, rejected };
}
