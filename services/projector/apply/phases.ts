import { projectorError } from '../../../shared/control/rejections.ts';
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
  finishLargeFanOuts,
  type GroupOutcome,
  type UpdateDeps,
} from '../materialize/fan-out.ts';
import type { ReconcileDeps } from '../materialize/reconcile.ts';
import type { Stall } from '../materialize/rounds.ts';
import { isolate } from './isolate.ts';
import { parseRecord } from './parse-record.ts';

/*
 * How the applier applies a group of chunks, in this order:
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
  const [chunk] = chunks;
  if (chunk && chunks.length === 1) return applyAlone(depsOfAttempt(deps, chunk), chunk);
  return applyAsGroup(deps, chunks);
}

/** Applies one chunk, and rejects the changes for which the engine's code throws. */
async function applyAlone(deps: UpdateDeps, { kind, changes }: ChangesOfKind): Promise<GroupOutcome> {
  const { results, failed } = await isolate(changes, (part) =>
    applyTogether(deps, [{ kind, changes: part }]),
  );
  const refused = results.flatMap(({ rejections }) => rejections);
  const repeated = results.flatMap((outcome) => [...outcome.repeated]);
  const largeFanOuts = results.flatMap((outcome) => outcome.largeFanOuts.get(kind) ?? []);
  return {
    rejections: [...refused, ...failed.map(rejectionOf)],
    repeated: new Set(repeated),
    largeFanOuts: new Map([[kind, largeFanOuts]]),
  };
}

/** Applies several chunks. Throws if the engine's code does; the applier then applies each chunk alone. */
function applyAsGroup(deps: ReconcileDeps, chunks: ParsedChunk[]): Promise<GroupOutcome> {
  // Kafka may revoke the partition of one of the chunks meanwhile. The work goes on, because each write is guarded. The
  // number of documents still to refresh belongs to no single partition, so no partition shows it.
  const onProgress = () => chunks.forEach(({ attempt }) => attempt.onProgress());
  return applyTogether({ ...deps, signal: neverAborted, onProgress, onStalled: giveUp }, chunks);
}

/**
 * Ends phase 1 of a group without progress. The applier then applies each chunk alone, because one may be the cause.
 */
function giveUp({ kind, ids, cause, rounds }: Stall): never {
  throw new Error(`${kind} documents are unfinished after ${rounds} rounds (${cause}): ${ids.join(', ')}`);
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
  const { notPurged, withBytes } = await storeDeadLetters(deps, topic, rejected);
  for (const { record, rejection, error } of rejected) {
    if (rejection.reason === 'projector_error')
      deps.onProjectorError?.({ ...record.position, topic }, rejection.detail, error);
  }
  // The sweep erases the bytes of a skipped record later. MongoDB may fail to read the document of its entity, and that
  // read must not stop the partition again.
  const notSkipped = withBytes.filter(({ rejection }) => rejection.reason !== 'skipped');
  await eraseDeadLetters(deps, await findErasures(deps.store, kind, { changes, rejected: notSkipped }));
  return {
    events: changes.length,
    rejected: notPurged.map(({ rejection }) => rejection.reason),
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
    finishLargeFanOuts(depsOfAttempt(deps, chunk), { kind, changes }, outcome),
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

const rejectionOf = ({ change, error }: { change: Change; error: unknown }) => ({
  change,
  rejection: projectorError('engine', error),
  error,
});
