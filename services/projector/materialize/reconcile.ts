import assert from 'node:assert';
import { projectorError, type Rejection } from '../../../shared/control/rejections.ts';
import type { Position } from '../../../shared/documents/entity.ts';
import type { Kind } from '../../../shared/documents/resources.ts';
import { splitBySize } from '../../../shared/runtime/split-by-size.ts';
import type { Change } from '../events/change.ts';
import { type JoinInput, readReferences, recheckReferences } from './join.ts';
import { isPropagated, type PlanDeps, planRound, type RejectedChange, type Work } from './plan.ts';
import {
  conflictsMax,
  type CountConflict,
  createConflictCounter,
  createRoundPauses,
  type RepeatCause,
  type RoundDeps,
} from './rounds.ts';
import type { CurrentDocument, Store, StoredState, Write, WriteResult } from './store.ts';
import { type PlannedWrite, prepareWrites } from './writes.ts';

export type ReconcileDeps = PlanDeps &
  RoundDeps & {
    store: Store;
    /** Called when a round leaves documents to the next one. */
    onRepeated?: (kind: Kind, cause: RepeatCause, documents: number) => void;
  };

/** An entity that `reconcile` has written: its state, and the state that its dependents showed before. */
export type Reconciled = {
  id: string;
  version: number;
  tombstonePosition: Position | undefined;
  /** Absent if the entity is deleted. */
  state?: StoredState;
  /** The state that all dependents show; null if it is unknown. */
  before: { state?: StoredState } | null;
  /** The cursor at which an interrupted fan-out of this state continues. */
  resumeAt?: CurrentDocument['fanOutCursor'];
};

type Reconciliation<K extends Kind> = {
  /** The entities whose documents were written, by id. */
  entities: Map<string, Reconciled>;
  /** The changes that were not applied. */
  rejections: RejectedChange<K>[];
  /** The changes that repeat an earlier record of the log. */
  repeated: Set<Change<K>>;
};

/** The work of one call, and the entities that its rounds have written. */
type CallState<K extends Kind> = Work<K> & {
  /** The entities whose documents were written, by id. */
  entities: Map<string, Reconciled>;
  countConflict: CountConflict;
};

/** The outcome of one bulk write. */
type BulkOutcome<K extends Kind> = {
  /** The entities whose documents were written. */
  entities: Reconciled[];
  /** Changes whose documents the store refuses, or at which the projector throws. Later rounds leave them out. */
  refused: RejectedChange<K>[];
  /** Documents for another round: not read yet, conflicted, without a refused change, or outdated. */
  unfinished: string[];
  /** The unfinished documents that were written from references that have changed since: Invariant 3. */
  outdated: string[];
};

/** Limits the memory of a round, because a reference takes up to a few kilobytes. */
const referencesPerRoundMax = 10_000;

/**
 * Applies changes to documents of one kind, and joins the stale documents again. A call without changes is a refresh.
 * Each round reads the documents, plans their writes, joins and writes them, and rechecks their references. A document
 * goes into another round if a reference has changed, or if another write came first. The invariants are in
 * docs/internals/joins.md.
 */
export async function reconcile<K extends Kind>(
  deps: ReconcileDeps,
  kind: K,
  ids: string[],
  changes: Map<string, Change<K>[]>,
  stale: ReadonlySet<string>,
): Promise<Reconciliation<K>> {
  const work: CallState<K> = {
    changes,
    rejected: new Map(),
    refused: new Map(),
    repeated: new Set(),
    outdated: new Set(stale),
    entities: new Map(),
    countConflict: createConflictCounter(),
  };
  const endRound = createRoundPauses(deps, kind);
  let todo = ids;
  while (todo.length > 0) {
    const refusedBefore = work.refused.size;
    const { unfinished, cause } = await runRound(deps, kind, todo, work);
    const hasProgress = unfinished.length < todo.length || work.refused.size > refusedBefore;
    todo = unfinished;
    await endRound(todo, hasProgress, cause);
  }
  const rejected = [...work.rejected.values()].flat();
  return {
    entities: work.entities,
    rejections: [...rejected, ...work.refused.values()],
    repeated: work.repeated,
  };
}

/** Brings the documents in `todo` up to date. Returns those that need another round, and adds the others to `work`. */
async function runRound<K extends Kind>(
  deps: ReconcileDeps,
  kind: K,
  todo: string[],
  work: CallState<K>,
): Promise<{ unfinished: string[]; cause: RepeatCause }> {
  const read = await deps.store.readCurrent(kind, todo);
  const planned = planRound(deps, kind, todo, read, work);
  const unfinished = [...read.remaining];
  let cause: RepeatCause = 'conflict';
  for (const writes of splitBySize(planned, referencesOf, referencesPerRoundMax)) {
    const outcome = await writeTogether(deps, kind, writes, work.countConflict);
    for (const entity of outcome.entities) work.entities.set(entity.id, entity);
    for (const refusal of outcome.refused) work.refused.set(refusal.change, refusal);
    for (const id of outcome.outdated) work.outdated.add(id);
    if (outcome.outdated.length > 0) cause = 'reference';
    unfinished.push(...outcome.unfinished);
  }
  assert(unfinished.length <= todo.length, 'a round leaves no document that it was not given');
  return { unfinished, cause };
}

/** The number of references that a join of the document reads, plus one for the document. */
function referencesOf({ joinInput }: { joinInput: JoinInput | null }): number {
  let count = 1;
  for (const edge in joinInput?.ids) count += joinInput.ids[edge]?.length ?? 0;
  return count;
}

/** Joins and writes documents by one bulk write, then rechecks their references. */
async function writeTogether<K extends Kind>(
  deps: ReconcileDeps,
  kind: K,
  planned: PlannedWrite<K>[],
  countConflict: CountConflict,
): Promise<BulkOutcome<K>> {
  const { store } = deps;
  const joinInputs = planned.map(({ joinInput }) => joinInput).filter((joinInput) => joinInput !== null);
  const { references, remaining } = await readReferences(store, kind, joinInputs);
  const ready = planned.filter(({ id }) => !remaining.has(id));
  const { prepared, failed } = prepareWrites(deps, kind, ready, references);
  const writes = prepared.map(({ write }) => write);
  const result = await store.write(kind, writes);
  const outcome: BulkOutcome<K> = { entities: [], refused: [], unfinished: [...remaining], outdated: [] };
  for (const { plannedWrite, error } of failed)
    refuse(deps, kind, plannedWrite, { rejection: projectorError('join', error), error }, outcome);
  const toRecheck: JoinInput[] = [];
  for (const { plannedWrite, write } of prepared) {
    const { id, joinInput } = plannedWrite;
    const detail = refusalOf(plannedWrite, result, countConflict);
    if (detail !== undefined) {
      refuse(deps, kind, plannedWrite, { rejection: { reason: 'refused_by_store', detail } }, outcome);
      continue;
    }
    if (result.conflicted.has(id)) {
      outcome.unfinished.push(id);
      continue;
    }
    outcome.entities.push(reconciledOf(deps, kind, plannedWrite, write));
    // A fan-out finds the document by its stored references, but may have missed it under new ones: Invariant 3.
    if (joinInput && hasNewReferences(plannedWrite, write)) toRecheck.push(joinInput);
  }
  if (toRecheck.length > 0) outcome.outdated = await recheckReferences(store, kind, toRecheck, references);
  outcome.unfinished.push(...outcome.outdated);
  reportRepeated(deps, kind, 'conflict', result.conflicted.size);
  reportRepeated(deps, kind, 'reference', outcome.outdated.length);
  return outcome;
}

/** Why the store will never take a write; undefined if it took the write, or another round may succeed. */
function refusalOf(
  { id, guard }: PlannedWrite<Kind>,
  { conflicted, refused }: WriteResult,
  countConflict: CountConflict,
): string | undefined {
  const refusal = refused.get(id);
  if (refusal !== undefined) return refusal;
  const takenId = conflicted.get(id);
  if (!takenId) return undefined;
  return countConflict(id, guard) >= conflictsMax ? takenId : undefined;
}

/** Adds the refused change of a document to `outcome`. Another round applies the other changes of the entity. */
function refuse<K extends Kind>(
  deps: ReconcileDeps,
  kind: K,
  { id, cause }: PlannedWrite<K>,
  refusal: { rejection: Rejection; error?: unknown },
  outcome: BulkOutcome<K>,
): void {
  if (!cause) {
    deps.onNotRefreshed(kind, id, refusal.rejection.detail, refusal.error);
    return;
  }
  outcome.refused.push({ change: cause, ...refusal });
  outcome.unfinished.push(id);
}

function reportRepeated(
  { onRepeated }: ReconcileDeps,
  kind: Kind,
  cause: RepeatCause,
  documents: number,
): void {
  if (documents > 0) onRepeated?.(kind, cause, documents);
}

/** Whether the written document stores other references than the living document before the write. */
function hasNewReferences({ current }: PlannedWrite<Kind>, { document: { refs } }: Write): boolean {
  if (!refs) return false;
  const storedRefs = current?.state ? current.refs : undefined;
  return storedRefs?.length !== refs.length || refs.some((ref, index) => ref !== storedRefs?.[index]);
}

function reconciledOf(
  deps: ReconcileDeps,
  kind: Kind,
  plannedWrite: PlannedWrite<Kind>,
  { op, document }: Write,
) {
  const { id, current, entity } = plannedWrite;
  const state = op === 'put' ? document.state : current?.state;
  const reconciled: Reconciled = {
    id,
    version: entity.version,
    tombstonePosition: entity.tombstonePosition,
    before: propagatedBefore(deps, kind, plannedWrite),
    // Invariant 8: a new state starts its fan-out from the beginning.
    resumeAt: op === 'join' ? current?.fanOutCursor : document.fanOutCursor,
  };
  if (state !== undefined) reconciled.state = state;
  return reconciled;
}

/** The state that all dependents showed before the write; null if it is unknown. */
function propagatedBefore(
  deps: ReconcileDeps,
  kind: Kind,
  plannedWrite: PlannedWrite<Kind>,
): Reconciled['before'] {
  const { current, entity } = plannedWrite;
  // Positions show nothing about changes that do not come in the order of the log.
  if (!current || deps.outOfOrder) return null;
  // Dependents did not show the entity before a record named its organization.
  if (current.orgId !== entity.orgId) return null;
  // A purged document no longer has the state that its dependents show.
  if (!current.state && !current.deletedAt) return null;
  return isPropagated(deps, kind, current) ? current : null;
}
