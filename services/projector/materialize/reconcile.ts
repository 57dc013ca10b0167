import type { Kind } from '../../../shared/documents/resources.ts';
import type { Change } from '../events/change.ts';
import { projectorError, type Rejection } from '../../../shared/control/rejections.ts';
import { splitBySize } from '../../../shared/runtime/split-by-size.ts';
import { readReferences, recheckReferences, type Joining } from './join.ts';
import { isPropagated, planRound, type PlanDeps, type Rejected, type Work } from './plan.ts';
import { countLosses, watchRounds, type RepeatCause, type RoundDeps } from './rounds.ts';
import type { Current, Guard, Store, StoredState, Write } from './store.ts';
import { prepareWrites, type PendingWrite } from './writes.ts';

export type ReconcileDeps = PlanDeps &
  RoundDeps & {
    store: Store;
    /** Called when a round leaves documents to the next one. */
    onRepeated?: (kind: Kind, cause: RepeatCause, documents: number) => void;
  };

/** An entity after its changes, and before them. */
export type Reconciled = {
  id: string;
  version: number;
  /** Absent if the entity is deleted. */
  state?: StoredState;
  /** The state that has reached every dependent; null if that is not known. */
  before: { state?: StoredState } | null;
  resumeAt?: Current['fanOutCursor'];
};

type Outcome<K extends Kind = Kind> = { entities: Map<string, Reconciled>; rejections: Rejected<K>[] };

/** Limits the memory of a round: a reference takes a few kilobytes at most. */
const referencesPerRoundMax = 10_000;

/**
 * Brings documents of one kind up to date with their changes and, those that are stale, with their references. Without
 * changes that is a refresh. A document whose references changed meanwhile, or whose write lost, goes into another round.
 * The invariants are in docs/internals/joins.md.
 */
export async function reconcile<K extends Kind>(
  deps: ReconcileDeps,
  kind: K,
  ids: string[],
  changes: Map<string, Change<K>[]>,
  stale: ReadonlySet<string>,
): Promise<Outcome<K>> {
  const entities = new Map<string, Reconciled>();
  const work: Work<K> = { changes, rejected: new Map(), refused: new Map(), outdated: new Set(stale) };
  const endRound = watchRounds(deps, kind);
  const isNoRace = countLosses();
  let pending = ids;
  while (pending.length > 0) {
    const read = await deps.store.readCurrent(kind, pending);
    const planned = planRound(deps, kind, pending, read, work);
    const unfinished = [...read.remaining];
    const refusedBefore = work.refused.size;
    let cause: RepeatCause = 'conflict';
    for (const batch of splitBySize(planned, referencesOf, referencesPerRoundMax)) {
      const round = await writeBatch(deps, kind, batch, isNoRace);
      for (const entity of round.entities) entities.set(entity.id, entity);
      for (const refusal of round.refused) work.refused.set(refusal.change, refusal);
      for (const id of round.outdated) work.outdated.add(id);
      if (round.outdated.length > 0) cause = 'reference';
      unfinished.push(...round.unfinished);
    }
    const hasProgress = unfinished.length < pending.length || work.refused.size > refusedBefore;
    pending = unfinished;
    await endRound(pending, hasProgress, cause);
  }
  const rejections = [...work.rejected.values()].flat();
  return { entities, rejections: rejections.concat(...work.refused.values()) };
}

/** Brings documents of one kind up to date with their references. */
export const refresh = (deps: ReconcileDeps, kind: Kind, ids: string[]): Promise<Outcome> =>
  reconcile(deps, kind, ids, new Map(), new Set(ids));

/** How many references a document is joined with, and one for itself. */
const referencesOf = ({ joining }: { joining: Joining | null }): number =>
  joining ? joining.ids.reduce((sum, ids) => sum + ids.length, 1) : 1;

/** Makes one bulk write. */
async function writeBatch<K extends Kind>(
  deps: ReconcileDeps,
  kind: K,
  pendingWrites: PendingWrite<K>[],
  isNoRace: (id: string, guard: Guard) => boolean,
) {
  const { store } = deps;
  const joinings = pendingWrites.flatMap(({ joining }) => joining ?? []);
  const { references, remaining } = await readReferences(store, kind, joinings);
  const ready = pendingWrites.filter(({ id }) => !remaining.has(id));
  const { prepared, failed } = prepareWrites(deps, kind, ready, references);
  const writes = prepared.map(({ write }) => write);
  const { conflicted, refused } = await store.write(kind, writes);
  const round = {
    entities: [] as Reconciled[],
    /** Changes whose documents the store refuses, or for which the code throws. Later rounds leave them out. */
    refused: [] as Rejected<K>[],
    /** Documents for another round. */
    unfinished: [...remaining],
    /** Documents among them that were written from references that have changed since: Invariant 3. */
    outdated: [] as string[],
  };
  for (const { item, error } of failed) {
    const rejection = projectorError('join', error);
    if (item.upsert) {
      round.refused.push({ change: item.upsert, rejection, error });
      round.unfinished.push(item.id);
    } else deps.onNotRefreshed(kind, item.id, rejection.detail, error);
  }
  const toRecheck: Joining[] = [];
  for (const { item, write } of prepared) {
    const lost = conflicted.get(item.id);
    const detail = lost && isNoRace(item.id, item.guard) ? lost : refused.get(item.id);
    if (lost !== undefined && detail === undefined) round.unfinished.push(item.id);
    else if (detail !== undefined && item.cause) {
      // The record is dead-lettered, and the other records of the entity are tried without it.
      const rejection: Rejection = { reason: 'refused_by_store', detail };
      round.refused.push({ change: item.cause, rejection });
      round.unfinished.push(item.id);
    } else if (detail !== undefined) deps.onNotRefreshed(kind, item.id, detail);
    else {
      round.entities.push(reconciledOf(deps, kind, item, write));
      const { refs } = write.document;
      if (item.joining && refs && !isSame(item.current?.state && item.current.refs, refs))
        toRecheck.push(item.joining);
    }
  }
  if (toRecheck.length > 0) round.outdated = await recheckReferences(store, kind, toRecheck, references);
  round.unfinished.push(...round.outdated);
  if (conflicted.size > 0) deps.onRepeated?.(kind, 'conflict', conflicted.size);
  if (round.outdated.length > 0) deps.onRepeated?.(kind, 'reference', round.outdated.length);
  return round;
}

const isSame = (before: string[] | undefined, after: string[]): boolean =>
  before?.length === after.length && after.every((ref, index) => ref === before[index]);

function reconciledOf(deps: ReconcileDeps, kind: Kind, item: PendingWrite<Kind>, { op, document }: Write) {
  const { id, current, entity } = item;
  const state = op === 'put' ? document.state : current?.state;
  // A purged document tells no longer what its dependents show.
  const isPurged = current && !current.state && !current.deletedAt;
  const isKnown =
    current?.orgId === entity.orgId && !isPurged && isPropagated(deps, kind, current) && !deps.outOfOrder;
  const reconciled: Reconciled = {
    id,
    version: entity.version,
    before: isKnown ? current : null,
    // Invariant 8: a new state starts its fan-out from the beginning.
    resumeAt: op === 'join' ? current?.fanOutCursor : document.fanOutCursor,
  };
  if (state !== undefined) reconciled.state = state;
  return reconciled;
}
