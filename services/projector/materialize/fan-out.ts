import type { Kind } from '../../../shared/documents/document.ts';
import type { Change } from '../events/change.ts';
import { changedEdges, dependentKinds, idIn, incomingEdges, refOf, type Incoming } from './edges.ts';
import { reconcile, type Outcome, type Reconciled, type ReconcileDeps } from './reconcile.ts';
import type { StoredState } from './store.ts';

export type UpdateDeps = ReconcileDeps & {
  /** Aborted when the worker loses its partition, or the process stops. */
  signal: AbortSignal;
  /** Called after each chunk of documents whose write is durable; with `isSaved` once a fan-out resumes after it. */
  onProgress: (isSaved?: boolean) => void;
  /** Called with the number of documents that a fan-out has still to refresh, as far as known. */
  onFanOut?: (documents: number) => void;
};

/** Documents of a fan-out that are refreshed at a time. Limits its memory. */
export const chunkSize = 1_000;

/**
 * Applies changes of one kind, in log order, and refreshes every document that depends on them. When it returns, their
 * effect is durable; when it throws, any part may be, and the caller applies them again. Returns the changes that the
 * rules or the store refused.
 */
export async function applyChanges<K extends Kind>(
  deps: UpdateDeps,
  kind: K,
  changes: Change<K>[],
): Promise<Outcome<K>['rejections']> {
  deps.signal.throwIfAborted();
  const byId = Map.groupBy(changes, ({ id }) => id);
  const ids = [...byId.keys()];
  const { entities, rejections } = await reconcile(deps, kind, ids, byId);
  deps.onProgress();
  const applied = [...entities.values()];
  const superseded: StoredState[] = [];
  for (const { id, state } of applied)
    // The states that are not the entity's now. Invariant 6 in docs/internals/consistency.md needs them.
    for (const change of byId.get(id) ?? [])
      if (change.op === 'upsert' && change.state !== state) superseded.push(change.state);
  await updateDependents(deps, kind, applied, superseded);
  return rejections;
}

/** An entity, and the edges over which dependents still embed an older state of it. */
type StaleEdges = { entity: Reconciled; edges: Incoming[] };

/**
 * Refreshes every document that embeds one of these entities, or should: the documents that refer to it, a parent
 * that it has left among them, and the parents that its state and its superseded states name. The invariants are in
 * docs/internals/consistency.md: the entities are already written (Invariant 5), and both sides are looked for
 * (Invariant 6).
 */
export async function updateDependents(
  deps: UpdateDeps,
  kind: Kind,
  entities: Reconciled[],
  superseded: StoredState[],
): Promise<void> {
  if (incomingEdges(kind).length === 0) return;
  const stale = entities
    .map((entity) => ({ entity, edges: changedEdges(kind, entity.before, entity.state) }))
    .filter(({ edges }) => edges.length > 0);
  for (const from of dependentKinds(kind)) {
    const states = stale.map(({ entity }) => entity.state).filter((state) => state !== undefined);
    const parents = parentsIn(kind, from, [...states, ...superseded]);
    await refreshAll(deps, from, parents);
    await refreshReferring(deps, kind, from, stale, new Set(parents));
  }
  for (const entity of entities)
    if (entity.resumeAt || deps.outOfOrder) await deps.store.saveFanOutCursor(kind, stateOf(entity), null);
}

/** The parents of one kind that states name. */
const parentsIn = (kind: Kind, from: Kind, states: StoredState[]): string[] => {
  const fields = incomingEdges(kind).flatMap((incoming) =>
    incoming.from === from && incoming.edge.type === 'children' ? [incoming.edge.parentField] : [],
  );
  return [...new Set(states.flatMap((state) => fields.map((field) => idIn(state, field))))];
};

/** Refreshes the documents of one kind that refer to the entities over stale edges, but those already refreshed. */
async function refreshReferring(
  deps: UpdateDeps,
  kind: Kind,
  from: Kind,
  stale: StaleEdges[],
  refreshed: Set<string>,
): Promise<void> {
  const refsOf = ({ entity, edges }: StaleEdges) =>
    edges.flatMap((incoming) => (incoming.from === from ? [refOf(incoming.edge.name, entity.id)] : []));
  const refs = stale.flatMap(refsOf);
  if (refs.length === 0) return;
  const resumes = stale.some(({ entity }) => entity.resumeAt);
  const ids = resumes ? null : await deps.store.findDependents(from, refs);
  if (ids) {
    const others = ids.filter((id) => !refreshed.has(id));
    return refreshAll(deps, from, others);
  }
  for (const { entity, edges } of stale)
    for (const incoming of edges)
      if (incoming.from === from) await refreshPages(deps, kind, entity, incoming, refreshed);
}

/**
 * Refreshes the documents that refer to one entity over one edge, page by page. Saves the cursor after each page, so
 * that the fan-out resumes there after a crash: Invariant 8.
 */
async function refreshPages(
  deps: UpdateDeps,
  kind: Kind,
  entity: Reconciled,
  incoming: Incoming,
  refreshed: Set<string>,
): Promise<void> {
  const { from, edge } = incoming;
  const ref = refOf(edge.name, entity.id);
  let after = startOnEdge(kind, entity, incoming);
  while (after !== null) {
    const page = await deps.store.pageOfDependents(from, ref, after);
    const others = page.ids.filter((id) => !refreshed.has(id));
    await refreshAll(deps, from, others);
    after = page.next;
    if (after === null) return;
    await saveCursor(deps, kind, entity, incoming, after);
  }
}

async function saveCursor(
  { store, onProgress }: UpdateDeps,
  kind: Kind,
  entity: Reconciled,
  { from, edge }: Incoming,
  after: string,
): Promise<void> {
  entity.resumeAt = { from, edge: edge.name, after };
  await store.saveFanOutCursor(kind, stateOf(entity), entity.resumeAt);
  onProgress(true);
}

const stateOf = ({ id, version, state }: Reconciled) => ({ id, version, isDeleted: state === undefined });

/** The id to start after: the cursor on its own edge, the first id on later edges, null on completed edges. */
function startOnEdge(kind: Kind, { resumeAt }: Reconciled, { from, edge }: Incoming): string | null {
  if (!resumeAt) return '';
  const indexOf = (fromKind: Kind, name: string) =>
    incomingEdges(kind).findIndex((incoming) => incoming.from === fromKind && incoming.edge.name === name);
  const index = indexOf(from, edge.name);
  const cursorIndex = indexOf(resumeAt.from, resumeAt.edge);
  if (index === cursorIndex) return resumeAt.after;
  return index < cursorIndex ? null : '';
}

async function refreshAll(deps: UpdateDeps, kind: Kind, ids: string[]): Promise<void> {
  for (let start = 0; start < ids.length; start += chunkSize) {
    deps.signal.throwIfAborted();
    deps.onFanOut?.(ids.length - start);
    await reconcile(deps, kind, ids.slice(start, start + chunkSize), null);
    deps.onProgress();
  }
  deps.onFanOut?.(0);
}
