import type { EntityState, Kind } from '../../../shared/documents/resources.ts';
import { pick } from '../../../shared/runtime/pick.ts';
import type { ChildrenEdge, Edge } from '../projections/define-projection.ts';
import { projections } from '../projections/projections.ts';
import { edgesOf, idIn, refOf } from './edges.ts';
import type { Child, ReferencedEntity, Store, StoredState } from './store.ts';

/** A living document to join, with the ids of the entities that its state names. */
export type JoinInput = { id: string; orgId: string; ids: IdsByEdge };

/** The ids that a state names over each edge. The keys are the names of the edges. */
export type IdsByEdge = Readonly<Record<string, string[]>>;

const noIds: string[] = [];

/** The entities that documents are joined from. Their revisions are compared again after the write. */
export type References = {
  byKind: Map<Kind, Map<string, ReferencedEntity>>;
  byParent: Map<ChildrenEdge, Map<string, Child[]>>;
};

/** The ids that a complete state names over the edges of its kind. */
export function idsInState<K extends Kind>(kind: K, state: EntityState[K]): IdsByEdge {
  const byEdge: Record<string, string[]> = {};
  for (const edge of edgesOf(kind)) {
    if (edge.type === 'reference') byEdge[edge.name] = edge.ids(state);
    if (edge.type === 'owner') byEdge[edge.name] = [idIn(state, edge.parentField)];
  }
  return byEdge;
}

/** The same ids as `idsInState`, from the references of a stored document. */
export function idsInRefs(kind: Kind, refs: string[] = []): IdsByEdge {
  const byEdge: Record<string, string[]> = {};
  for (const { name } of edgesOf(kind)) {
    const start = refOf(name, '');
    const refsOfEdge = refs.filter((ref) => ref.startsWith(start));
    byEdge[name] = refsOfEdge.map((ref) => ref.slice(start.length));
  }
  return byEdge;
}

/** The references of documents, as far as one read has found them. */
type ReadReferences = {
  references: References;
  /** The ids of the documents whose children did not fit into the read. */
  remaining: Set<string>;
};

/** Reads the entities to which documents of one kind refer: first the children, then all other entities together. */
export async function readReferences(store: Store, kind: Kind, inputs: JoinInput[]): Promise<ReadReferences> {
  const byParent: References['byParent'] = new Map();
  const remaining = new Set<string>();
  for (const edge of edgesOf(kind)) {
    if (edge.type !== 'children') continue;
    const read = await readChildren(store, edge, inputs);
    byParent.set(edge, read.children);
    for (const id of read.remaining) remaining.add(id);
  }
  const ready = inputs.filter(({ id }) => !remaining.has(id));
  const ids = idsToRead(kind, ready, { byKind: new Map(), byParent });
  const byKind = await store.readEntities(ids);
  return { references: { byKind, byParent }, remaining };
}

function readChildren(store: Store, edge: ChildrenEdge, inputs: JoinInput[]) {
  const orgIdsOfParents = new Map(inputs.map(({ id, orgId }) => [id, orgId]));
  return store.readFirstChildren(edge.to, edge, orgIdsOfParents);
}

const childrenOf = ({ byParent }: References, edge: ChildrenEdge, { id }: JoinInput): Child[] =>
  byParent.get(edge)?.get(id) ?? [];

/** The ids that have to be read to resolve an edge. Children themselves have been read already. */
function idsOver(edge: Edge, input: JoinInput, references: References): string[] {
  switch (edge.type) {
    case 'reference':
    case 'owner':
      return input.ids[edge.name] ?? noIds;
    case 'through': {
      const children = childrenOf(references, edge.via, input);
      return [...new Set(children.map(({ state }) => idIn(state, edge.field)))];
    }
    case 'children':
      return noIds;
  }
}

/** The ids of all entities that have to be read to join the documents, by kind. */
function idsToRead(kind: Kind, inputs: JoinInput[], references: References): Map<Kind, Set<string>> {
  const wanted = new Map<Kind, Set<string>>();
  for (const input of inputs) {
    for (const edge of edgesOf(kind)) {
      for (const id of idsOver(edge, input, references)) {
        const ids = wanted.get(edge.to) ?? new Set();
        wanted.set(edge.to, ids.add(id));
      }
    }
  }
  return wanted;
}

/** The result of a join of one document. */
export type Joined = {
  /** The fields that it shows of other entities. */
  joined: object;
  /** Whether the API answers 404 until another event comes. For example, the channel of a conversation is missing. */
  isPending: boolean;
  /** The references that it stores, over every edge. */
  refs: string[];
  /** Whether the entity that it belongs to is deleted. */
  ownerDeleted: boolean;
  /** Whether the entity that it belongs to is not known, or has no state. */
  ownerMissing: boolean;
};

/** The entity that an edge leads to, unless it is unknown or of another organization. */
function findReferenced(edge: Edge, id: string, { orgId }: JoinInput, { byKind }: References) {
  const entity = byKind.get(edge.to)?.get(id);
  return entity?.orgId === orgId ? entity : undefined;
}

/**
 * The fields that the edge embeds of the entities that are not missing. The store reads the fields of all edges
 * together.
 */
function embeddedStates(edge: Edge, ids: string[], input: JoinInput, references: References): StoredState[] {
  const states: StoredState[] = [];
  for (const id of ids) {
    const state = findReferenced(edge, id, input, references)?.state;
    if (state) states.push(pick(state, edge.fields));
  }
  return states;
}

/** Joins one document. A deleted entity, or one of another organization, is missing in `joined`, but not in `refs`. */
export function join(kind: Kind, input: JoinInput, references: References): Joined {
  const resolved: Record<string, unknown> = {};
  const refs: string[] = [];
  let ownerDeleted = false;
  let ownerMissing = false;
  for (const edge of edgesOf(kind)) {
    const ids = idsOver(edge, input, references);
    for (const id of ids) refs.push(refOf(edge.name, id));
    if (edge.type === 'owner') {
      for (const id of ids) {
        const owner = findReferenced(edge, id, input, references);
        ownerDeleted ||= owner?.deletedAt !== undefined;
        ownerMissing ||= owner?.state === undefined;
      }
    } else if (edge.type === 'children') {
      const children = childrenOf(references, edge, input);
      for (const { _id } of children) refs.push(refOf(edge.name, _id));
      resolved[edge.name] = embeddedChildren(edge, children);
    } else {
      resolved[edge.name] = embeddedReferences(edge, ids, input, references);
    }
  }
  const { joined, isPending } = projections[kind].join(resolved);
  return { joined, isPending, refs, ownerDeleted, ownerMissing };
}

/** The state of the entity that a single edge names, or the states that any other edge leads to. */
function embeddedReferences(
  edge: Edge,
  ids: string[],
  input: JoinInput,
  references: References,
): StoredState[] | StoredState | null {
  const states = embeddedStates(edge, ids, input, references);
  const isSingle = edge.type === 'reference' && edge.single;
  return isSingle ? (states[0] ?? null) : states;
}

/** The children that fit into a document, and after which of them the document has more; null if they are all. */
const embeddedChildren = (edge: ChildrenEdge, children: Child[]) => ({
  items: children.map(({ state = {} }) => pick(state, edge.fields)),
  moreAfter: children.length < edge.max ? null : (children.at(-1)?.byCreated ?? null),
});

/**
 * Reads the revisions of the references again. Returns the ids of the documents whose references have changed since the
 * read from which they were joined: Invariant 3.
 */
export async function recheckReferences(store: Store, kind: Kind, inputs: JoinInput[], read: References) {
  const [changed, families] = await Promise.all([
    findChanged(store, idsToRead(kind, inputs, read), read),
    readFamilies(store, kind, inputs),
  ]);
  if (changed.size === 0 && families.length === 0) return [];
  const hasChangedReference = (input: JoinInput): boolean =>
    edgesOf(kind).some((edge) => {
      const changedIds = changed.get(edge.to);
      return changedIds !== undefined && idsOver(edge, input, read).some((id) => changedIds.has(id));
    });
  const hasChangedChildren = (input: JoinInput): boolean =>
    families.some(({ edge, children, remaining }) => {
      // A family that did not fit into the read may have changed.
      if (remaining.includes(input.id)) return true;
      const currentChildren = children.get(input.id) ?? [];
      return !areSameChildren(currentChildren, childrenOf(read, edge, input));
    });
  const outdated = inputs.filter((input) => hasChangedReference(input) || hasChangedChildren(input));
  return outdated.map(({ id }) => id);
}

/** Reads revisions again. Returns the ids of each kind whose revision has changed, without kinds that have none. */
async function findChanged(
  store: Store,
  wanted: Map<Kind, Set<string>>,
  { byKind }: References,
): Promise<Map<Kind, Set<string>>> {
  const revisions = await store.readRevisions(wanted);
  const changed = new Map<Kind, Set<string>>();
  for (const [kind, ids] of wanted) {
    const readEntities = byKind.get(kind);
    const newRevisions = revisions.get(kind);
    const differing = [...ids].filter((id) => newRevisions?.get(id) !== readEntities?.get(id)?.revision);
    if (differing.length > 0) changed.set(kind, new Set(differing));
  }
  return changed;
}

/** Reads the current children of documents, over each edge to children. */
function readFamilies(store: Store, kind: Kind, inputs: JoinInput[]) {
  const edges = edgesOf(kind).filter((edge) => edge.type === 'children');
  const reading = edges.map(async (edge) => {
    const { children, remaining } = await readChildren(store, edge, inputs);
    return { edge, children, remaining };
  });
  return Promise.all(reading);
}

/** Whether two reads found the same children, in the same order and revisions. */
const areSameChildren = (children: Child[], earlierChildren: Child[]): boolean =>
  children.length === earlierChildren.length &&
  children.every(({ _id, revision }, index) => {
    const earlier = earlierChildren[index];
    return _id === earlier?._id && revision === earlier.revision;
  });
