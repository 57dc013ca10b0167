import type { Rejection } from '../../../shared/control/rejections.ts';
import type { Kind } from '../../../shared/documents/resources.ts';
import type { Change, Upsert } from '../events/change.ts';
import { projections } from '../projections/projections.ts';
import { type Entity, evolve, type EvolveRules, isRepetition } from './evolve.ts';
import { type IdsByEdge, idsInRefs, idsInState } from './join.ts';
import type { CurrentDocument, DocumentsPage, UnreadableDocument } from './store.ts';
import type { PlannedWrite, WriteDeps } from './writes.ts';

export type PlanDeps = WriteDeps & {
  /**
   * Whether a worker has completely applied the record at a position of the kind's topic, its fan-out included. The
   * position of the partition is then after the record.
   */
  isApplied: (kind: Kind, position: NonNullable<CurrentDocument['position']>) => boolean;
  /**
   * Called for each document that cannot be refreshed: the store refuses it, its envelope cannot be read, or a bug in
   * the projector throws `error`.
   */
  onNotRefreshed: (kind: Kind, id: string, reason: string, error?: unknown) => void;
  /** The ids that a stored document names over each edge; by default, those in its `refs`. */
  idsIn?: (kind: Kind, current: CurrentDocument) => IdsByEdge;
  /** Called for each document that is replaced, because a field of its envelope cannot be read. */
  onUnreadable?: (kind: Kind, id: string, field: string) => void;
};

/** A change that is not applied. `error` is set if a bug in the projector has thrown it. */
export type RejectedChange<K extends Kind = Kind> = {
  change: Change<K>;
  rejection: Rejection;
  error?: unknown;
};

/** The work of `reconcile`, which one round hands over to the next. */
export type Work<K extends Kind> = {
  changes: Map<string, Change<K>[]>;
  /** Rejected: changes that break the rules, by entity. Each round evaluates the changes of its documents again. */
  rejected: Map<string, RejectedChange<K>[]>;
  /** Refused: changes that the store does not take, or at which the projector throws. Later rounds leave them out. */
  refused: Map<Change<K>, RejectedChange<K>>;
  /** Repeated: changes that repeat an earlier record of the log. */
  repeated: Set<Change<K>>;
  /** Outdated: documents whose references have changed since they were last written, and stale ones at first. */
  outdated: Set<string>;
};

/** Plans one round: the writes of the documents in `todo` that were read, and are not up to date. */
export function planRound<K extends Kind>(
  deps: PlanDeps,
  kind: K,
  todo: string[],
  read: DocumentsPage,
  work: Work<K>,
): PlannedWrite<K>[] {
  const readableById = new Map(read.documents.map((document) => [document._id, document]));
  const unreadableById = new Map(read.unreadable.map((document) => [document._id, document]));
  const remaining = new Set(read.remaining);
  const { deletionIsFinal } = projections[kind];
  const rules: EvolveRules = { deletionIsFinal, now: deps.now(), tombstoneDays: deps.tombstoneDays };
  const planned: PlannedWrite<K>[] = [];
  for (const id of todo) {
    if (remaining.has(id)) continue;
    const current = readableById.get(id);
    const unreadable = unreadableById.get(id);
    const changes = work.changes.get(id);
    if (!changes) {
      const refresh = planRefresh(deps, kind, id, current, unreadable);
      if (refresh) planned.push(refresh);
      continue;
    }
    const guard = unreadable ? unreadable.guard : (current?.revision ?? null);
    const write = planWrite(deps, kind, { id, current, guard }, changes, rules, work);
    if (!write) continue;
    planned.push(write);
    if (unreadable) deps.onUnreadable?.(kind, id, unreadable.field);
  }
  return planned;
}

/** Plans to join a document without a change of its own. Null if it has no state or cannot be read. */
function planRefresh<K extends Kind>(
  deps: PlanDeps,
  kind: K,
  id: string,
  current: CurrentDocument | undefined,
  unreadable: UnreadableDocument | undefined,
): PlannedWrite<K> | null {
  if (unreadable) {
    deps.onNotRefreshed(kind, id, `${unreadable.field} cannot be read: an event of its own rewrites it`);
    return null;
  }
  if (!current?.state) return null;
  return createPlannedWrite(deps, kind, { id, current, guard: current.revision }, current, [], undefined);
}

/** A document to write, and the stored document, if it can be read. */
type Target = Pick<PlannedWrite<Kind>, 'id' | 'current' | 'guard'>;

/** Applies the changes of an entity to its stored document. Plans no write if the outcome is stored and propagated. */
function planWrite<K extends Kind>(
  deps: PlanDeps,
  kind: K,
  target: Target,
  changes: Change<K>[],
  rules: EvolveRules,
  { outdated, refused, rejected, repeated }: Work<K>,
): PlannedWrite<K> | null {
  const { id, current } = target;
  const rejections: RejectedChange<K>[] = [];
  let lastEffective: Change<K> | undefined;
  let entity: Entity | null = current ?? null;
  const accepted = withoutRefused(changes, refused);
  for (const change of accepted) {
    if (isRepetition(entity, change)) repeated.add(change);
    const next = evolve(entity, change, rules);
    entity = next.entity;
    if (next.changed) lastEffective = change;
    if (next.rejected) rejections.push({ change, rejection: next.rejected });
  }
  if (rejections.length > 0) rejected.set(id, rejections);
  else rejected.delete(id);
  const isDone =
    !lastEffective && !outdated.has(id) && current !== undefined && isPropagated(deps, kind, current);
  if (!entity || isDone) return null;
  return createPlannedWrite(deps, kind, target, entity, accepted, lastEffective);
}

/** Returns the changes that are not refused. Almost always that is all of them, without a copy. */
const withoutRefused = <K extends Kind>(changes: Change<K>[], refused: Work<K>['refused']): Change<K>[] =>
  refused.size === 0 ? changes : changes.filter((change) => !refused.has(change));

/** `lastEffective` is the last of the changes that changed the entity; undefined if none did. */
function createPlannedWrite<K extends Kind>(
  { idsIn = (_kind, stored) => idsInRefs(kind, stored.refs) }: PlanDeps,
  kind: K,
  { id, current, guard }: Target,
  entity: Entity,
  changes: Change<K>[],
  lastEffective: Change<K> | undefined,
): PlannedWrite<K> {
  const upsert = changes.find(
    (change): change is Upsert<K> => change.op === 'upsert' && change.state === entity.state,
  );
  const { orgId, state, deletedAt, position, tombstonePosition } = entity;
  // Compares identity: the position of a redelivered record equals the stored position, but does not raise it.
  const raisesPosition =
    !lastEffective || lastEffective.position === position || lastEffective.position === tombstonePosition;
  let joinInput: PlannedWrite<K>['joinInput'] = null;
  if (state !== undefined && orgId !== null && !deletedAt) {
    let ids: IdsByEdge;
    if (upsert) ids = idsInState(kind, upsert.state);
    else ids = current ? idsIn(kind, current) : idsInRefs(kind);
    joinInput = { id, orgId, ids };
  }
  return { id, current, guard, entity, upsert, cause: upsert ?? lastEffective, raisesPosition, joinInput };
}

/** Whether all dependents show the stored state: Invariant 7. */
export const isPropagated = ({ isApplied }: PlanDeps, kind: Kind, current: CurrentDocument): boolean =>
  !current.fanOutCursor &&
  (current.position === null || isApplied(kind, current.position)) &&
  (current.tombstonePosition === undefined || isApplied(kind, current.tombstonePosition));
