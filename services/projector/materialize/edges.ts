import { isDeepStrictEqual } from 'node:util';
import { type Kind, kinds } from '../../../shared/documents/resources.ts';
import type { Edge } from '../projections/define-projection.ts';
import { projections } from '../projections/projections.ts';
import type { FanOutCursor, StoredState } from './store.ts';

/** An edge seen from the entity that it leads to. */
export type Incoming = { from: Kind; edge: Edge };

/** The edges that the documents of a kind declare. */
export const edgesOf = <K extends Kind>(kind: K): Edge<K>[] => projections[kind].edges;

const incoming = new Map<Kind, Incoming[]>(kinds.map((kind) => [kind, []]));
for (const from of kinds) {
  for (const edge of projections[from].edges) incoming.get(edge.to)?.push({ from, edge });
}

/** The edges of all projections that lead to a kind. */
export const incomingEdges = (kind: Kind): Incoming[] => incoming.get(kind) ?? [];

/** A cursor before the first dependent of an entity; null for a kind without dependents. */
export const fanOutStart = (kind: Kind): FanOutCursor | null =>
  incomingEdges(kind).length > 0 ? { from: kind, edge: '', after: '' } : null;

/** The kinds whose documents can depend on a document of this kind. */
export const dependentKinds = (kind: Kind): Kind[] => [
  ...new Set(incomingEdges(kind).map(({ from }) => from)),
];

/** The fields of a referenced state to which an edge resolves. */
const fieldsOf = (edge: Edge): readonly string[] =>
  edge.type === 'children' ? [edge.parentField, ...edge.fields] : edge.fields;

const fieldNames = (edges: Incoming[]) => [
  ...new Set(['id', ...edges.flatMap(({ edge }) => fieldsOf(edge))]),
];
const embedded = new Map(kinds.map((kind) => [kind, fieldNames(incomingEdges(kind))]));
const referenced = new Map(
  kinds.map((kind) => [kind, fieldNames(incomingEdges(kind).filter(({ edge }) => edge.type !== 'children'))]),
);

/** The fields of an entity's state that dependents embed, and `id`, which shows that there is a state at all. */
export const embeddedFields = (kind: Kind): string[] => embedded.get(kind) ?? [];

/** Like `embeddedFields`, but only of the dependents that name the entity, without the parents that list it. */
export const referencedFields = (kind: Kind): string[] => referenced.get(kind) ?? [];

/** The id that a state names in a field; '' without one. */
export function idIn(state: StoredState | undefined, field: string): string {
  const id = state?.[field];
  return typeof id === 'string' ? id : '';
}

/** Whether an edge resolves to the same fields for two states of an entity. A deleted entity has no state. */
const resolvesToSame = (edge: Edge, before: StoredState | undefined, after: StoredState | undefined) =>
  (before === undefined) === (after === undefined) &&
  fieldsOf(edge).every((field) => isDeepStrictEqual(before?.[field], after?.[field]));

/** The edges to an entity whose fields differ between two of its states; all edges if the earlier state is unknown. */
export const changedEdges = (kind: Kind, before: { state?: StoredState } | null, after?: StoredState) =>
  incomingEdges(kind).filter(({ edge }) => before === null || !resolvesToSame(edge, before.state, after));

/** How a document stores a reference. No edge has a colon in its name. */
export const refOf = (edgeName: string, id: string): string => `${edgeName}:${id}`;

function kindsReachedFrom(kind: Kind, seen: Kind[] = []): Kind[] {
  if (seen.includes(kind))
    throw new Error(`the declared references form a cycle: ${[...seen, kind].join(', ')}`);
  const edgesToOtherKinds = edgesOf(kind).filter(({ to }) => to !== kind);
  return edgesToOtherKinds.flatMap(({ to }) => [to, ...kindsReachedFrom(to, [...seen, kind])]);
}

const reachedKinds = new Map(kinds.map((kind) => [kind, kindsReachedFrom(kind)]));

/**
 * The kinds to which the documents of a kind refer, directly or not. If their records are applied first, most documents
 * are written only once.
 */
export const prerequisiteKinds = (kind: Kind): Kind[] =>
  kinds.filter((candidate) => reachedKinds.get(kind)?.includes(candidate));

const levelOf = (kind: Kind): number => 1 + Math.max(-1, ...prerequisiteKinds(kind).map(levelOf));

/** All kinds, level by level: each kind after its prerequisites. Kinds of one level do not refer to each other. */
export const kindLevels: readonly (readonly Kind[])[] = [
  ...Map.groupBy(
    kinds.toSorted((a, b) => levelOf(a) - levelOf(b)),
    levelOf,
  ).values(),
];
