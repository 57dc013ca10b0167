import type { Kind } from '../../../shared/documents/resources.ts';
import type { Change } from '../events/change.ts';
import {
  changedEdges,
  dependentKinds,
  idIn,
  type Incoming,
  incomingEdges,
  kindLevels,
  refOf,
} from './edges.ts';
import type { RejectedChange } from './plan.ts';
import { reconcile, type Reconciled, type ReconcileDeps } from './reconcile.ts';
import type { FannedOutState, StoredState } from './store.ts';

export type UpdateDeps = ReconcileDeps & {
  /** Aborted when the worker loses its partition, or the process stops. */
  signal: AbortSignal;
  /** Called after each part of the documents is durable. `isSaved`: a later attempt begins after this part. */
  onProgress: (isSaved?: boolean) => void;
  /** Called with the number of documents that a fan-out has still to refresh, as far as known. */
  onFanOut?: (documents: number) => void;
};

/** The most documents of one kind that a fan-out refreshes at a time. This limits the memory of a fan-out. */
export const documentsAtOnce = 1_000;

/** Changes of one kind, in log order. */
export type ChangesOfKind = { kind: Kind; changes: Change[] };

/** The outcome of the changes that were applied together. */
export type GroupOutcome = {
  /** The changes that the rules or the store refused. */
  rejections: RejectedChange[];
  /** The changes that repeat an earlier record of the log. */
  repeated: Set<Change>;
  /** The entities of each kind whose fan-out is still to do, because it takes more than a page or resumes. */
  largeFanOuts: Map<Kind, Reconciled[]>;
};

/** Ids of documents that embed an older state than is stored, or lack an entity that they should embed, by kind. */
type Stale = Map<Kind, Set<string>>;

/**
 * Applies the changes of chunks together, referenced kinds first: each document is written once, for its own changes
 * and the changes of its references. Kinds that do not refer to each other run at the same time. On return all writes
 * are durable, except those of `largeFanOuts`. After an error the caller applies the chunks again.
 */
export async function applyTogether(deps: UpdateDeps, chunks: ChangesOfKind[]): Promise<GroupOutcome> {
  const outcome: GroupOutcome = { rejections: [], repeated: new Set(), largeFanOuts: new Map() };
  const stale: Stale = new Map();
  const waitingOfKind = new Map<Kind, number>();
  const reportWaiting = (kind: Kind, documents: number) => {
    waitingOfKind.set(kind, documents);
    const allWaiting = [...waitingOfKind.values()].reduce((sum, count) => sum + count, 0);
    deps.onFanOut?.(allWaiting);
  };
  for (const level of kindLevels) {
    const applying = level.map((kind) => {
      const onFanOut = (documents: number) => reportWaiting(kind, documents);
      const chunksOfKind = chunks.filter((chunk) => chunk.kind === kind);
      const changes = chunksOfKind.flatMap((chunk) => chunk.changes);
      return applyKind({ ...deps, onFanOut }, { kind, changes }, stale, outcome);
    });
    // Waits for all kinds even after an error. Otherwise the caller would start again while some kinds are in progress.
    const results = await Promise.allSettled(applying);
    for (const result of results) {
      if (result.status === 'rejected') throw result.reason;
    }
  }
  return outcome;
}

/** Applies the changes of one kind, and refreshes its stale documents. Adds to the outcome and to `stale`. */
async function applyKind(
  deps: UpdateDeps,
  { kind, changes }: ChangesOfKind,
  stale: Stale,
  outcome: GroupOutcome,
): Promise<void> {
  const byId = Map.groupBy(changes, ({ id }) => id);
  const { entities, rejections, repeated } = await reconcileAll(deps, kind, byId, stale.get(kind));
  outcome.rejections.push(...rejections);
  for (const change of repeated) outcome.repeated.add(change);
  stale.delete(kind);
  const applied = entities.filter(({ id }) => byId.has(id));
  // A later record has replaced these states. Another worker may have joined the parent that such a state names, so
  // that parent is stale as well: Invariant 6 in docs/internals/joins.md.
  const superseded: StoredState[] = [];
  for (const { id, state } of applied) {
    for (const change of byId.get(id) ?? []) {
      if (change.op === 'upsert' && change.state !== state) superseded.push(change.state);
    }
  }
  outcome.largeFanOuts.set(kind, await findStale(deps, kind, applied, superseded, stale));
  // Documents may refer to others of their own kind.
  await refreshAll(deps, kind, stale.get(kind) ?? []);
}

/** Completes the large fan-outs of one of the chunks. */
export async function finishLargeFanOuts(
  deps: UpdateDeps,
  { kind, changes }: ChangesOfKind,
  outcome: GroupOutcome,
) {
  const ids = new Set(changes.map(({ id }) => id));
  const large = outcome.largeFanOuts.get(kind) ?? [];
  const entities = large.filter(({ id }) => ids.has(id));
  await refreshLarge(deps, kind, entities);
}

/** Refreshes every document that depends on these entities, whose writes are durable. */
export async function updateDependents(deps: UpdateDeps, kind: Kind, entities: Reconciled[]): Promise<void> {
  const stale: Stale = new Map();
  const large = await findStale(deps, kind, entities, [], stale);
  for (const [from, ids] of stale) await refreshAll(deps, from, ids);
  await refreshLarge(deps, kind, large);
}

/** An entity, and the edges over which its dependents still embed an older state. */
type ChangedEntity = { entity: Reconciled; edges: Incoming[] };

function changedEntities(kind: Kind, entities: Reconciled[]): ChangedEntity[] {
  const changed: ChangedEntity[] = [];
  for (const entity of entities) {
    const edges = changedEdges(kind, entity.before, entity.state);
    if (edges.length > 0) changed.push({ entity, edges });
  }
  return changed;
}

/** Whether the document of an entity has, or will get, a cursor that stores the progress of its fan-out. */
const hasCursor = ({ outOfOrder }: UpdateDeps, { resumeAt }: Reconciled): boolean =>
  resumeAt !== undefined || outOfOrder === true;

/**
 * Adds two sets of documents to `stale`: those that refer to an entity, such as a former parent, and the parents that
 * its new state or a superseded one names (Invariant 6). The entities are already written (Invariant 5). Returns the
 * entities whose fan-out is large.
 */
async function findStale(
  deps: UpdateDeps,
  kind: Kind,
  entities: Reconciled[],
  superseded: StoredState[],
  stale: Stale,
): Promise<Reconciled[]> {
  if (dependentKinds(kind).length === 0) return [];
  const changed = changedEntities(kind, entities);
  const states = changed.map(({ entity }) => entity.state).filter((state) => state !== undefined);
  const withoutCursor = changed.filter(({ entity }) => !hasCursor(deps, entity));
  const referring = await findReferring(deps, kind, withoutCursor);
  for (const from of dependentKinds(kind)) {
    const staleIds = stale.get(from) ?? [];
    const parents = parentsIn(kind, from, [...states, ...superseded]);
    const referringIds = referring?.get(from) ?? [];
    stale.set(from, new Set([...staleIds, ...parents, ...referringIds]));
  }
  const withCursor = entities.filter((entity) => hasCursor(deps, entity));
  return referring ? withCursor : [...withCursor, ...withoutCursor.map(({ entity }) => entity)];
}

/** Finds the documents of each kind that refer to one of these entities; null if a kind has more than one page. */
async function findReferring({ store }: UpdateDeps, kind: Kind, changed: ChangedEntity[]) {
  const idsByKind = new Map<Kind, string[]>();
  for (const from of dependentKinds(kind)) {
    const refs = refsFrom(from, changed);
    const ids = refs.length === 0 ? [] : await store.findDependents(from, refs);
    if (!ids) return null;
    idsByKind.set(from, ids);
  }
  return idsByKind;
}

/** The references by which documents of one kind name these entities. */
function refsFrom(from: Kind, changed: ChangedEntity[]): string[] {
  const refs: string[] = [];
  for (const { entity, edges } of changed) {
    for (const incoming of edges) {
      if (incoming.from === from) refs.push(refOf(incoming.edge.name, entity.id));
    }
  }
  return refs;
}

/** The parents of one kind that states name. */
function parentsIn(kind: Kind, from: Kind, states: StoredState[]): string[] {
  const parents: string[] = [];
  for (const incoming of incomingEdges(kind)) {
    if (incoming.from !== from || incoming.edge.type !== 'children') continue;
    const { parentField } = incoming.edge;
    for (const state of states) parents.push(idIn(state, parentField));
  }
  return parents;
}

/**
 * Refreshes the documents that refer to entities. The documents of several entities are refreshed together if they fit
 * into a page, and otherwise edge by edge and page by page. A cursor is saved after each page, so that the fan-out
 * resumes there after a crash: Invariant 8.
 */
async function refreshLarge(deps: UpdateDeps, kind: Kind, entities: Reconciled[]): Promise<void> {
  const changed = changedEntities(kind, entities);
  const withoutCursor = changed.filter(({ entity }) => !hasCursor(deps, entity));
  for (const changedEntity of changed) {
    if (hasCursor(deps, changedEntity.entity)) await refreshEdges(deps, kind, changedEntity);
  }
  await refreshTogether(deps, kind, withoutCursor);
  for (const entity of entities) {
    if (hasCursor(deps, entity)) await deps.store.saveFanOutCursor(kind, stateOf(entity), null);
  }
}

/** Refreshes the documents that refer to entities. Halves the entities until their documents fit into a page. */
async function refreshTogether(deps: UpdateDeps, kind: Kind, changed: ChangedEntity[]): Promise<void> {
  const [first] = changed;
  if (!first) return;
  if (changed.length === 1) return refreshEdges(deps, kind, first);
  const referring = await findReferring(deps, kind, changed);
  if (referring) {
    for (const [from, ids] of referring) await refreshAll(deps, from, ids);
    return;
  }
  const half = Math.ceil(changed.length / 2);
  await refreshTogether(deps, kind, changed.slice(0, half));
  await refreshTogether(deps, kind, changed.slice(half));
}

async function refreshEdges(deps: UpdateDeps, kind: Kind, { entity, edges }: ChangedEntity): Promise<void> {
  const { resumeAt } = entity;
  // Without a cursor the index is -1, and every edge is refreshed from its beginning.
  const resumed = edges.findIndex(({ from, edge }) => from === resumeAt?.from && edge.name === resumeAt.edge);
  for (const [index, incoming] of edges.entries()) {
    if (index < resumed) continue;
    await refreshPages(deps, kind, entity, incoming, index === resumed ? resumeAt?.after : '');
  }
}

async function refreshPages(
  deps: UpdateDeps,
  kind: Kind,
  entity: Reconciled,
  { from, edge }: Incoming,
  after = '',
) {
  const ref = refOf(edge.name, entity.id);
  for (;;) {
    const page = await deps.store.findDependentsPage(from, ref, after);
    await refreshAll(deps, from, page.ids);
    if (page.next === null) return;
    after = page.next;
    entity.resumeAt = { from, edge: edge.name, after };
    await deps.store.saveFanOutCursor(kind, stateOf(entity), entity.resumeAt);
    deps.onProgress(true);
  }
}

const stateOf = ({ id, version, tombstonePosition, state }: Reconciled): FannedOutState => ({
  id,
  version,
  tombstonePosition,
  isDeleted: state === undefined,
});

/** Brings documents of one kind up to date with their references, `documentsAtOnce` at a time. */
export async function refreshAll(deps: UpdateDeps, kind: Kind, ids: Iterable<string>): Promise<void> {
  await reconcileAll(deps, kind, new Map(), new Set(ids));
}

/** Applies changes, and refreshes stale documents, `documentsAtOnce` at a time. */
async function reconcileAll(
  deps: UpdateDeps,
  kind: Kind,
  changes: Map<string, Change[]>,
  stale: ReadonlySet<string> = new Set(),
): Promise<{ entities: Reconciled[]; rejections: RejectedChange[]; repeated: Change[] }> {
  const ids = [...new Set([...changes.keys(), ...stale])];
  const entities: Reconciled[] = [];
  const rejections: RejectedChange[] = [];
  const repeated: Change[] = [];
  for (let start = 0; start < ids.length; start += documentsAtOnce) {
    deps.signal.throwIfAborted();
    deps.onFanOut?.(Math.min(stale.size, ids.length - start));
    const part = ids.slice(start, start + documentsAtOnce);
    const staleInPart = new Set(part.filter((id) => stale.has(id)));
    const outcome = await reconcile(deps, kind, part, changes, staleInPart);
    entities.push(...outcome.entities.values());
    rejections.push(...outcome.rejections);
    repeated.push(...outcome.repeated);
    deps.onProgress();
  }
  deps.onFanOut?.(0);
  return { entities, rejections, repeated };
}
