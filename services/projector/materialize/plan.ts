import type { Rejection } from '../../../shared/control/rejections.ts';
import type { Kind } from '../../../shared/documents/resources.ts';
import type { Change, Upsert } from '../events/change.ts';
import { projections } from '../projections/projections.ts';
import { type Entity, evolve, type EvolveRules, isRepetition } from './evolve.ts';
import { type IdsByEdge, idsInRefs, idsInState } from './join.ts';
import type { Current, ReadDocuments, Unreadable } from './store.ts';
import type { PlannedWrite, WriteDeps } from './writes.ts';

export type PlanDeps = WriteDeps & {
  /**
   * Whether any worker has applied the record at a position of the kind's topic completely, its fan-out included.
   * The partition's position is then after the record.
   */
  isApplied: (kind: Kind, position: NonNullable<Current['position']>) => boolean;
  /**
   * Called for each document that cannot be refreshed: the store refuses it, its envelope cannot be read, or the code
   * throws `error` for it.
   */
  onNotRefreshed: (kind: Kind, id: string, reason: string, error?: unknown) => void;
  /** The ids that a stored document names over each edge; by default, those in its `refs`. */
  idsIn?: (kind: Kind, current: Current) => IdsByEdge;
  /** Called for each document that is replaced, because a field of its envelope cannot be read. */
  onUnreadable?: (kind: Kind, id: string, field: string) => void;
};

/** A change that is not applied. `error` is set if the code has thrown it for the change. */
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
  /** Refused: changes that the store does not take, or for which the code throws. Later rounds leave them out. */
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
  read: ReadDocuments,
  work: Work<K>,
): PlannedWrite<K>[] {
  const stored = new Map(read.documents.map((document) => [document._id, document]));
  const unreadable = new Map(read.unreadable.map((document) => [document._id, document]));
  const remaining = new Set(read.remaining);
  const { deletionIsFinal } = projections[kind];
  const rules: EvolveRules = { deletionIsFinal, now: deps.now(), tombstoneDays: deps.tombstoneDays };
  const planned: PlannedWrite<K>[] = [];
  for (const id of todo) {
    if (remaining.has(id)) continue;
    const current = stored.get(id);
    const broken = unreadable.get(id);
    const changes = work.changes.get(id);
    if (!changes) {
      const refresh = planRefresh(deps, kind, id, current, broken);
      if (refresh) planned.push(refresh);
      continue;
    }
    const guard = broken ? broken.guard : (current?.revision ?? null);
    const write = planWrite(deps, kind, { id, current, guard }, changes, rules, work);
    if (!write) continue;
    planned.push(write);
    if (broken) deps.onUnreadable?.(kind, id, broken.field);
  }
  return planned;
}

/** Plans to join a document again that no change names. Null if it has no state, or cannot be read. */
function planRefresh<K extends Kind>(
  deps: PlanDeps,
  kind: K,
  id: string,
  current: Current | undefined,
  broken: Unreadable | undefined,
): PlannedWrite<K> | null {
  if (broken) {
    deps.onNotRefreshed(kind, id, `${broken.field} cannot be read: an event of its own rewrites it`);
    return null;
  }
  if (!current?.state) return null;
  return plannedWrite(deps, kind, { id, current, guard: current.revision }, current, [], undefined);
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
  let last: Change<K> | undefined;
  let entity: Entity | null = current ?? null;
  const accepted = withoutRefused(changes, refused);
  for (const change of accepted) {
    if (isRepetition(entity, change)) repeated.add(change);
    const next = evolve(entity, change, rules);
    entity = next.entity;
    if (next.changed) last = change;
    if (next.rejected) rejections.push({ change, rejection: next.rejected });
  }
  if (rejections.length > 0) rejected.set(id, rejections);
  else rejected.delete(id);
  const isDone = !last && !outdated.has(id) && current !== undefined && isPropagated(deps, kind, current);
  return entity && !isDone ? plannedWrite(deps, kind, target, entity, accepted, last) : null;
}

/** Almost always no change is refused. */
const withoutRefused = <K extends Kind>(changes: Change<K>[], refused: Work<K>['refused']): Change<K>[] =>
  refused.size === 0 ? changes : changes.filter((change) => !refused.has(change));

/** `last` is the last of the changes that changed the entity. */
function plannedWrite<K extends Kind>(
  { idsIn = (_kind, stored) => idsInRefs(kind, stored.refs) }: PlanDeps,
  kind: K,
  { id, current, guard }: Target,
  entity: Entity,
  changes: Change<K>[],
  last: Change<K> | undefined,
): PlannedWrite<K> {
  const upsert = changes.find(
    (change): change is Upsert<K> => change.op === 'upsert' && change.state === entity.state,
  );
  const { orgId, state, deletedAt, position, tombstonePosition } = entity;
  // Compares by identity, because a redelivered record has an equal position, but does not raise the stored position.
  const raisesPosition = !last || last.position === position || last.position === tombstonePosition;
  let joining: PlannedWrite<K>['joining'] = null;
  if (state !== undefined && orgId !== null && !deletedAt) {
    const storedIds = () => (current ? idsIn(kind, current) : idsInRefs(kind));
    joining = { id, orgId, ids: upsert ? idsInState(kind, upsert.state) : storedIds() };
  }
  return { id, current, guard, entity, upsert, cause: upsert ?? last, raisesPosition, joining };
}

/** Whether all dependents show the stored state: Invariant 7. */
export const isPropagated = ({ isApplied }: PlanDeps, kind: Kind, current: Current): boolean =>
  !current.fanOutCursor &&
  (current.position === null || isApplied(kind, current.position)) &&
  (current.tombstonePosition === undefined || isApplied(kind, current.tombstonePosition));
