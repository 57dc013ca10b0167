import { projectorError, type Rejection } from '../../../shared/control/rejections.ts';
import type { Kind } from '../../../shared/documents/resources.ts';
import { kindOfTopic } from '../../../shared/kafka/topics.ts';
import type { RejectedRecord } from '../dead-letters/dead-letter.ts';
import { eraseDeadLetters, findErasures } from '../dead-letters/erase.ts';
import { storeDeadLetters, type StoreDeadLettersDeps } from '../dead-letters/store-dead-letters.ts';
import type { Change } from '../events/change.ts';
import type { AppliedChunk, Attempt, Chunk } from '../hand-over.ts';
import {
  applyTogether,
  type ChangesOfKind,
  completeFanOuts,
  type GroupOutcome,
  type UpdateDeps,
} from '../materialize/fan-out.ts';
import type { ReconcileDeps } from '../materialize/reconcile.ts';
import type { Stall } from '../materialize/rounds.ts';
import { isolate } from './isolate.ts';
import { parseRecord } from './parse-record.ts';

/*
 * How a group of chunks is applied, in this order:
 *   parseChunk      each record becomes a change, or is rejected
 *   applyChanges    phase 1, all chunks together: writes the documents, and refreshes the few that depend on them
 *   finish          phase 2, for each chunk: large fan-outs, dead letters, erasure of deleted entities
 */

export type FinishDeps = ReconcileDeps & StoreDeadLettersDeps;

/** A chunk with its parsed records. */
export type ParsedChunk = Chunk & {
  kind: Kind;
  /** The meaning of the records, in the order of the log. */
  changes: Change[];
  /** The rejected records, which become dead letters. */
  rejected: RejectedRecord[];
  attempt: Attempt;
};

/** The changes of a chunk that were applied, and its rejected records. */
export type ChunkEffect = { changes: Change[]; rejected: RejectedRecord[] };

/** Parses a chunk of one of the topics with a prefix. */
export function parseChunkOf(prefix: string, chunk: Chunk, attempt: Attempt): ParsedChunk {
  const kind = kindOfTopic(chunk.topic, prefix);
  if (!kind) throw new Error(`${chunk.topic} is not a topic of this projector`);
  return parseChunk(kind, chunk, attempt);
}

export function parseChunk(kind: Kind, chunk: Chunk, attempt: Attempt): ParsedChunk {
  const changes: Change[] = [];
  const rejected: RejectedRecord[] = [];
  for (const record of chunk.records) {
    const parsed = parseRecord(kind, record, chunk.skipped);
    if ('change' in parsed) changes.push(parsed.change);
    else rejected.push({ record, rejection: parsed.rejected, error: parsed.error });
  }
  return { ...chunk, kind, changes, rejected, attempt };
}

const neverAborted = new AbortController().signal;

/**
 * Phase 1: applies the changes of chunks together. On return, their effect is durable, except the large fan-outs in the
 * outcome. Call `finish` for each chunk next.
 */
export async function applyChanges(deps: ReconcileDeps, chunks: ParsedChunk[]): Promise<GroupOutcome> {
  const [only, ...others] = chunks;
  if (only && others.length === 0) return applyIsolated(depsOfAttempt(deps, only), only);
  // A group continues if the group of consumers revokes the partition of one of its chunks. That is safe, because each
  // write is guarded. No partition shows how many documents the group has still to refresh.
  const onProgress = () => chunks.forEach(({ attempt }) => attempt.onProgress());
  return applyTogether({ ...deps, signal: neverAborted, onProgress, onStalled: giveUp }, chunks);
}

/**
 * Phase 2 of one chunk. When it returns, the effect of each of its records is durable, or the record is stored as a
 * dead letter: Invariants 13 and 14 in docs/internals/retention.md.
 */
export async function finish(
  deps: FinishDeps,
  chunk: ParsedChunk,
  outcome: GroupOutcome,
): Promise<AppliedChunk> {
  const { topic, kind } = chunk;
  const { changes, rejected } = await finishFanOuts(deps, chunk, outcome);
  const { standing, attached } = await storeDeadLetters(deps, topic, rejected);
  for (const { record, rejection, error } of rejected.filter(isProjectorError))
    deps.onProjectorError?.({ ...record.position, topic }, rejection.detail, error);
  // Only dead letters with stored bytes have anything to erase. The sweep looks for the entities of skipped records:
  // MongoDB may fail to read their documents, and the partition must go on.
  const notSkipped = attached.filter(({ rejection }) => rejection.reason !== 'skipped');
  await eraseDeadLetters(deps, await findErasures(deps.store, kind, { changes, rejected: notSkipped }));
  return {
    events: changes.length,
    rejected: standing.map(({ rejection }) => rejection.reason),
    times: changes.filter((change) => !outcome.repeated.has(change)).map(({ time }) => time.getTime()),
  };
}

/** The part of phase 2 before the dead letters: the large fan-outs of one chunk. */
export async function finishFanOuts(
  deps: ReconcileDeps,
  chunk: ParsedChunk,
  outcome: GroupOutcome,
): Promise<ChunkEffect> {
  const { kind, records } = chunk;
  const { failed } = await isolate(chunk.changes, (changes) =>
    completeFanOuts(depsOfAttempt(deps, chunk), { kind, changes }, outcome),
  );
  const rejections = [...outcome.rejections, ...failed.map(rejectionOf)];
  const rejected = [...chunk.rejected];
  for (const { change, ...reason } of rejections) {
    const record = records.find(({ position }) => position === change.position);
    if (record) rejected.push({ record, ...reason });
  }
  const notApplied = new Set(rejections.map(({ change }) => change));
  return { changes: chunk.changes.filter((change) => !notApplied.has(change)), rejected };
}

/** The engine's dependencies for the work of one chunk, in one attempt. */
function depsOfAttempt(deps: ReconcileDeps, { attempt }: ParsedChunk): UpdateDeps {
  return {
    ...deps,
    signal: attempt.signal,
    onProgress: attempt.onProgress,
    onFanOut: (documents) => attempt.onFanOut?.(documents),
    onStalled: (stall) => {
      deps.onStalled?.(stall);
      attempt.onConflicting?.();
    },
  };
}

/** Applies one chunk, and rejects the changes for which the engine's code throws. */
async function applyIsolated(deps: UpdateDeps, { kind, changes }: ChangesOfKind): Promise<GroupOutcome> {
  const { results: done, failed } = await isolate(changes, (part) =>
    applyTogether(deps, [{ kind, changes: part }]),
  );
  return {
    rejections: [...done.flatMap(({ rejections }) => rejections), ...failed.map(rejectionOf)],
    repeated: new Set(done.flatMap(({ repeated }) => [...repeated])),
    largeFanOuts: new Map([[kind, done.flatMap(({ largeFanOuts: large }) => large.get(kind) ?? [])]]),
  };
}

const rejectionOf = ({ change, error }: { change: Change; error: unknown }) => ({
  change,
  rejection: projectorError('engine', error),
  error,
});

const isProjectorError = ({ rejection }: { rejection: Rejection }): boolean =>
  rejection.reason === 'projector_error';

/**
 * Ends phase 1 of a group without progress. The applier then applies each chunk alone, because one may be the cause.
 */
function giveUp({ kind, ids, cause, rounds }: Stall): never {
  throw new Error(`${kind} documents are unfinished after ${rounds} rounds (${cause}): ${ids.join(', ')}`);
}
