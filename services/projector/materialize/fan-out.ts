import type { Kind } from '../../../shared/documents/document.ts';
import { changedEdges, dependentKinds, idIn, incomingEdges, refOf, type Incoming } from './edges.ts';
import { reconcile, type Reconciled, type ReconcileDeps } from './reconcile.ts';

export type UpdateDeps = ReconcileDeps & {
  /** Aborted when the work is no longer ours, or the process stops. */
  signal: AbortSignal;
  /** Counts work that is done and durable: a chunk of documents. */
  onProgress: () => void;
};

/** Documents reconciled at a time; bounds what a batch or a fan-out holds in memory. */
export const chunkSize = 500;

type Stale = { entity: Reconciled; edges: Incoming[] };

/**
 * Refreshes every document that shows one of these entities, or should: those that refer to it (also a parent that
 * it has left), and the parent that its own state names, or one of the states that changes in between had
 * (`passed`). An entity was written before its dependents are looked for. Whatever comes to refer to it later is new
 * or names something new, and finds the entity as it is by its own recheck.
 */
export async function updateDependents(
  deps: UpdateDeps,
  kind: Kind,
  entities: Reconciled[],
  passed: object[],
): Promise<void> {
  const stale = entities
    .map((entity) => ({ entity, edges: changedEdges(kind, entity.before, entity.state) }))
    .filter(({ edges }) => edges.length > 0);
  for (const from of dependentKinds(kind)) {
    const parents = parentsIn(kind, from, [...stale.flatMap(({ entity }) => entity.state ?? []), ...passed]);
    const done = new Set(parents);
    await refreshAll(deps, from, parents);
    await refreshReferring(deps, kind, from, stale, done);
  }
  for (const entity of entities)
    if (entity.resumeAt || (deps.outOfOrder && incomingEdges(kind).length > 0))
      await deps.store.saveFanOutCursor(kind, stateOf(entity), null);
}

/**
 * The parents that states name. A state that has passed counts too: a worker that lost its partition may have seen
 * it while it stood, and have a write on the parent in progress, and nothing in the store leads there any more.
 */
const parentsIn = (kind: Kind, from: Kind, states: unknown[]): string[] => {
  const fields = incomingEdges(kind).flatMap(({ from: of, edge }) =>
    of === from && edge.type === 'children' ? [edge.parent] : [],
  );
  return [...new Set(states.flatMap((state) => fields.map((name) => idIn(state, name))))];
};

/** Refreshes the documents of one kind that refer to the entities over the edges that changed. */
async function refreshReferring(
  deps: UpdateDeps,
  kind: Kind,
  from: Kind,
  stale: Stale[],
  done: Set<string>,
): Promise<void> {
  const refsOf = ({ entity, edges }: Stale) =>
    edges.flatMap((one) => (one.from === from ? [refOf(one.name, entity.id)] : []));
  const refs = stale.flatMap(refsOf);
  const orgIds = [...new Set(stale.flatMap(({ entity }) => entity.orgId ?? []))];
  if (refs.length === 0 || orgIds.length === 0) return;
  const resumed = stale.some(({ entity }) => entity.resumeAt);
  const ids = resumed ? null : await deps.store.findDependents(from, orgIds, refs);
  if (ids)
    return refreshAll(
      deps,
      from,
      ids.filter((id) => !done.has(id)),
    );
  for (const { entity, edges } of stale)
    for (const one of edges) if (one.from === from) await refreshPages(deps, kind, entity, one, done);
}

/**
 * Goes through the documents that refer to one entity over one edge, a page at a time, and records after each page
 * how far it has come, so that it goes on there after a crash.
 */
async function refreshPages(
  deps: UpdateDeps,
  kind: Kind,
  entity: Reconciled,
  { from, name }: Incoming,
  done: Set<string>,
): Promise<void> {
  let after = startOf(kind, entity, { from, name });
  while (after !== null) {
    const page = await deps.store.pageOfDependents(from, entity.orgId ?? '', refOf(name, entity.id), after);
    await refreshAll(
      deps,
      from,
      page.ids.filter((id) => !done.has(id)),
    );
    after = page.next;
    if (after === null) return;
    entity.resumeAt = { from, edge: name, after };
    await deps.store.saveFanOutCursor(kind, stateOf(entity), entity.resumeAt);
  }
}

const stateOf = ({ id, version, state }: Reconciled) => ({ id, version, isDeleted: state === undefined });

/** Where to begin on an edge: behind the cursor on its own edge, nowhere on one before it. */
function startOf(kind: Kind, { resumeAt }: Reconciled, { from, name }: Pick<Incoming, 'from' | 'name'>) {
  if (!resumeAt) return '';
  const order = incomingEdges(kind).map((one) => refOf(one.from, one.name));
  const [state, reached] = [
    order.indexOf(refOf(from, name)),
    order.indexOf(refOf(resumeAt.from, resumeAt.edge)),
  ];
  return state === reached ? resumeAt.after : state < reached ? null : '';
}

async function refreshAll(deps: UpdateDeps, kind: Kind, ids: string[]): Promise<void> {
  for (let start = 0; start < ids.length; start += chunkSize) {
    deps.signal.throwIfAborted();
    await reconcile(deps, kind, ids.slice(start, start + chunkSize), null);
    deps.onProgress();
  }
}
