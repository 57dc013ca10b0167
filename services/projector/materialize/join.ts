import type { Kind } from '../../../shared/documents/document.ts';
import type { Edge } from '../projections/define-projection.ts';
import { projections } from '../projections/projections.ts';
import { edgesOf, idIn, idsByEdge, refOf } from './edges.ts';
import type { Child, ReferencedEntity, Store } from './store.ts';

/** A living document to be joined, with the ids that its own state names over each edge. */
export type Target = { id: string; orgId: string; named: Map<string, string[]> };

/** What the joins of a document come to. `refs` names all that it refers to, also what is missing. */
export type Joined = {
  joined: object;
  refs: string[];
  ownerDeleted: boolean;
  ownerMissing: boolean;
};

/** What the joins were built from, to be compared when the documents have been written. */
export type References = {
  byKind: Map<Kind, Map<string, ReferencedEntity>>;
  byParent: Map<string, Map<string, Child[]>>;
};

/** Reads referenced entities, or remembers them. */
export type ReadReferenced = (kind: Kind, ids: string[]) => Promise<ReferencedEntity[]>;

/** The ids that a whole own state names over the edges of its kind. */
export function namedByState(kind: Kind, state: unknown): Target['named'] {
  const named: Target['named'] = new Map();
  for (const [name, edge] of edgesOf(kind)) {
    if (edge.type === 'refer') named.set(name, edge.ids(state as never));
    if (edge.type === 'owner') named.set(name, [idIn(state, edge.parent)]);
  }
  return named;
}

/** The same of a stored document, whose references say it. */
export const namedByRefs = (refs: string[] = []): Target['named'] => idsByEdge(refs);

/**
 * Reads what documents of one kind refer to: children by their parents' ids, then all kinds at once. `rest` are the
 * targets whose children did not fit into one read.
 */
export async function readReferences(
  store: Store,
  kind: Kind,
  targets: Target[],
  readReferenced: ReadReferenced,
): Promise<{ references: References; remaining: Set<string> }> {
  const references: References = { byKind: new Map(), byParent: new Map() };
  const remaining = new Set<string>();
  for (const [name, edge] of edgesOf(kind)) {
    if (edge.type !== 'children') continue;
    const read = await readChildren(store, edge, targets);
    references.byParent.set(name, read.children);
    for (const id of read.remaining) remaining.add(id);
  }
  const ready = targets.filter(({ id }) => !remaining.has(id));
  const wanted = idsToRead(kind, ready, references);
  await Promise.all(
    [...wanted].map(async ([to, ids]) => {
      const found = await readReferenced(to, [...ids]);
      references.byKind.set(to, new Map(found.map((entity) => [entity._id, entity])));
    }),
  );
  return { references, remaining };
}

const readChildren = (store: Store, edge: Edge & { type: 'children' }, targets: Target[]) =>
  store.readFirstChildren(edge.to, edge, new Map(targets.map(({ id, orgId }) => [id, orgId])));

const childrenOf = ({ byParent }: References, name: string, { id }: Target): Child[] =>
  byParent.get(name)?.get(id) ?? [];

/** The ids over an edge that have to be read to resolve it; of children there is nothing more to read. */
function idsOver(name: string, edge: Edge, target: Target, references: References): string[] {
  switch (edge.type) {
    case 'refer':
    case 'owner':
      return target.named.get(name) ?? [];
    case 'through':
      return [
        ...new Set(childrenOf(references, edge.via, target).map(({ state }) => idIn(state, edge.field))),
      ];
    case 'children':
      return [];
  }
}

/** All ids that have to be read to join the targets, by kind. */
function idsToRead(kind: Kind, targets: Target[], references: References): Map<Kind, Set<string>> {
  const wanted = new Map<Kind, Set<string>>();
  for (const target of targets)
    for (const [name, edge] of edgesOf(kind)) {
      const ids = wanted.get(edge.to) ?? new Set();
      for (const id of idsOver(name, edge, target, references)) ids.add(id);
      if (ids.size > 0) wanted.set(edge.to, ids);
    }
  return wanted;
}

/** What is read of an entity serves all the edges that lead to it; each of them shows its own fields alone. */
const shownBy = ({ fields }: { fields: readonly string[] }, state: unknown): object => {
  const shown: Record<string, unknown> = {};
  for (const name of fields) shown[name] = (state as Record<string, unknown>)[name];
  return shown;
};

/** Joins one document. What belongs to another organization, or is deleted, counts as missing. */
export function join(kind: Kind, target: Target, references: References): Joined {
  const resolved: Record<string, unknown> = {};
  const result = { refs: [] as string[], ownerDeleted: false, ownerMissing: false };
  for (const [name, edge] of edgesOf(kind)) {
    const entities = references.byKind.get(edge.to);
    const ids = idsOver(name, edge, target, references);
    const mine: ReferencedEntity[] = [];
    for (const id of ids) {
      result.refs.push(refOf(name, id));
      const entity = entities?.get(id);
      if (entity?.orgId === target.orgId) mine.push(entity);
    }
    if (edge.type === 'owner') {
      result.ownerDeleted ||= mine.some(({ deletedAt }) => deletedAt !== undefined);
      result.ownerMissing ||= mine.every((owner) => owner.state === undefined);
      continue;
    }
    if (edge.type === 'children') {
      const children = childrenOf(references, name, target);
      for (const { _id } of children) result.refs.push(refOf(name, _id));
      const moreAfter = children.length < edge.max ? null : (children.at(-1)?.byCreated ?? null);
      resolved[name] = { items: children.map(({ state }) => shownBy(edge, state)), moreAfter };
      continue;
    }
    const shown = mine.flatMap(({ state }) => (state ? [shownBy(edge, state)] : []));
    resolved[name] = edge.type === 'refer' && edge.single ? (shown[0] ?? null) : shown;
  }
  return { ...result, joined: projections[kind].document(resolved as never) };
}

/**
 * Reads the revisions of what the documents were built from again, all kinds at once; gives the ids of those that
 * were built from what is there no more.
 */
export async function recheckReferences(
  store: Store,
  kind: Kind,
  targets: Target[],
  references: References,
): Promise<{ stale: string[]; changed: [Kind, string][] }> {
  const edges = edgesOf(kind);
  const wanted = idsToRead(kind, targets, references);
  const [revisions, children] = await Promise.all([
    Promise.all([...wanted].map(async ([to, ids]) => [to, await store.readRevisions(to, [...ids])] as const)),
    Promise.all(
      edges.map(async ([name, edge]) =>
        edge.type === 'children' ? ([[name, await readChildren(store, edge, targets)]] as const) : [],
      ),
    ),
  ]);
  const changed: [Kind, string][] = [];
  const isChanged = new Map<Kind, Set<string>>();
  for (const [to, now] of revisions)
    for (const id of wanted.get(to) ?? [])
      if (now.get(id) !== references.byKind.get(to)?.get(id)?.revision) {
        changed.push([to, id]);
        isChanged.set(to, (isChanged.get(to) ?? new Set()).add(id));
      }
  if (changed.length === 0 && children.flat().length === 0) return { stale: [], changed };
  const stale = targets.filter(
    (target) =>
      edges.some(([name, edge]) =>
        idsOver(name, edge, target, references).some((id) => isChanged.get(edge.to)?.has(id)),
      ) ||
      children
        .flat()
        .some(
          ([name, { children: now, remaining }]) =>
            remaining.includes(target.id) ||
            stamp(now.get(target.id)) !== stamp(references.byParent.get(name)?.get(target.id)),
        ),
  );
  return { stale: stale.map(({ id }) => id), changed };
}

const stamp = (children: Child[] = []): string =>
  children.map(({ _id, revision }) => `${_id}@${revision}`).join(' ');
