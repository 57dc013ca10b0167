import type { Kind } from '../../../shared/documents/resources.ts';
import type { Change, Upsert } from '../events/change.ts';
import type { Rejection } from '../../../shared/control/rejections.ts';
import { splitBySize } from '../../../shared/runtime/split-by-size.ts';
import { projections } from '../projections/projections.ts';
import { evolve, type Entity, type EvolveRules } from './evolve.ts';
import { idsInRefs, idsInState, readReferences, recheckReferences, type Joining } from './join.ts';
import type { Current, Store, StoredState, Write } from './store.ts';
import { writeOf, type PendingWrite, type WriteDeps } from './writes.ts';

export type ReconcileDeps = WriteDeps & {
  store: Store;
  /**
   * Whether any worker has applied the record at a position of the kind's topic completely, its fan-out included.
   * The partition's position is then after the record.
   */
  isApplied: (kind: Kind, position: NonNullable<Current['position']>) => boolean;
  /** Called for each document that the store refuses to have refreshed. */
  onNotRefreshed: (kind: Kind, id: string, reason: string) => void;
  /** Called when a round leaves documents to the next one. */
  onRepeated?: (kind: Kind, cause: RepeatCause, documents: number) => void;
};

/** Another write came first, or a reference changed between the read and the recheck. */
export const repeatCauses = ['conflict', 'reference'] as const;
type RepeatCause = (typeof repeatCauses)[number];

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

export type Rejected<K extends Kind = Kind> = { change: Change<K>; rejection: Rejection };

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
  // Each round judges the changes of its documents again.
  const rejected = new Map<string, Rejected<K>[]>();
  const refused = new Map<Change<K>, Rejected<K>>();
  const outdated = new Set(stale);
  let pending = ids;
  while (pending.length > 0) {
    const read = await deps.store.readCurrent(kind, pending);
    const stored = new Map(read.documents.map((document) => [document._id, document]));
    const notRead = new Set(read.remaining);
    const planned: PendingWrite<K>[] = [];
    for (const id of pending) {
      const current = stored.get(id);
      if (notRead.has(id)) continue;
      const given = changes.get(id);
      if (!given) {
        if (current?.state) planned.push(pendingWrite(kind, id, current, current, []));
        continue;
      }
      const accepted = refused.size === 0 ? given : given.filter((change) => !refused.has(change));
      const isOutdated = outdated.has(id);
      const { write, rejections } = planWrite(deps, kind, { id, current, changes: accepted, isOutdated });
      rejected.set(id, rejections);
      if (write) planned.push(write);
    }
    pending = [...read.remaining];
    for (const batch of splitBySize(planned, referencesOf, referencesPerRoundMax)) {
      const round = await writeBatch(deps, kind, batch);
      for (const entity of round.entities) entities.set(entity.id, entity);
      for (const refusal of round.refused) refused.set(refusal.change, refusal);
      for (const id of round.outdated) outdated.add(id);
      pending.push(...round.unfinished);
    }
  }
  return { entities, rejections: [...rejected.values()].flat().concat(...refused.values()) };
}

/** Brings documents of one kind up to date with their references. */
export const refresh = (deps: ReconcileDeps, kind: Kind, ids: string[]): Promise<Outcome> =>
  reconcile(deps, kind, ids, new Map(), new Set(ids));

type Planned<K extends Kind> = {
  id: string;
  current: Current | undefined;
  changes: Change<K>[];
  /** Whether references have changed since the document was last written. */
  isOutdated: boolean;
};

/** Applies an entity's changes to its stored document. No write if the outcome is stored and has reached every dependent. */
function planWrite<K extends Kind>(deps: ReconcileDeps, kind: K, planned: Planned<K>) {
  const { id, current, changes, isOutdated } = planned;
  const { deletionIsFinal } = projections[kind];
  const rules: EvolveRules = { deletionIsFinal, now: deps.now(), tombstoneDays: deps.tombstoneDays };
  const rejections: Rejected<K>[] = [];
  let entity: Entity | null = current ?? null;
  let changed = false;
  for (const change of changes) {
    const next = evolve(entity, change, rules);
    entity = next.entity;
    changed ||= next.changed;
    if (next.rejected) rejections.push({ change, rejection: next.rejected });
  }
  const isDone = !changed && !isOutdated && current !== undefined && isPropagated(deps, kind, current);
  const write = entity && !isDone ? pendingWrite(kind, id, current, entity, changes) : null;
  return { write, rejections };
}

function pendingWrite<K extends Kind>(
  kind: K,
  id: string,
  current: Current | undefined,
  entity: Entity,
  changes: Change<K>[],
): PendingWrite<K> {
  const upsert = changes.find(
    (change): change is Upsert<K> => change.op === 'upsert' && change.state === entity.state,
  );
  const { orgId, state, deletedAt } = entity;
  if (state === undefined || orgId === null || deletedAt)
    return { id, current, entity, upsert, joining: null };
  const ids = upsert ? idsInState(kind, upsert.state) : idsInRefs(kind, current?.refs);
  return { id, current, entity, upsert, joining: { id, orgId, ids } };
}

/** Whether a stored state has reached every dependent: Invariant 7. */
const isPropagated = ({ isApplied }: ReconcileDeps, kind: Kind, current: Current): boolean =>
  !current.fanOutCursor &&
  (current.position === null || isApplied(kind, current.position)) &&
  (current.tombstonePosition === undefined || isApplied(kind, current.tombstonePosition));

/** How many references a document is joined with, and one for itself. */
const referencesOf = ({ joining }: { joining: Joining | null }): number =>
  joining ? joining.ids.reduce((sum, ids) => sum + ids.length, 1) : 1;

/** Makes one bulk write. */
async function writeBatch<K extends Kind>(deps: ReconcileDeps, kind: K, pendingWrites: PendingWrite<K>[]) {
  const { store } = deps;
  const joinings = pendingWrites.flatMap(({ joining }) => joining ?? []);
  const { references, remaining } = await readReferences(store, kind, joinings);
  const ready = pendingWrites.filter(({ id }) => !remaining.has(id));
  const writes = ready.map((item) => writeOf(deps, kind, item, references));
  const { conflicted, refused } = await store.write(kind, writes);
  const round = {
    entities: [] as Reconciled[],
    /** Changes whose documents the store refuses. Later rounds leave them out. */
    refused: [] as Rejected<K>[],
    /** Documents for another round. */
    unfinished: [...remaining],
    /** Documents among them that were written from references that have changed since: Invariant 3. */
    outdated: [] as string[],
  };
  const toRecheck: Joining[] = [];
  for (const [index, item] of ready.entries()) {
    const write = writes[index];
    const detail = refused.get(item.id);
    if (!write || conflicted.has(item.id)) round.unfinished.push(item.id);
    else if (detail !== undefined && item.upsert) {
      // The record is dead-lettered, and the other records of the entity are tried without it.
      const rejection: Rejection = { reason: 'refused_by_store', detail };
      round.refused.push({ change: item.upsert, rejection });
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
