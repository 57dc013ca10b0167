import { isDeepStrictEqual } from 'node:util';
import { kinds, type Kind } from '../../../shared/documents/document.ts';
import type { Edge } from '../projections/define-projection.ts';
import { projections } from '../projections/projections.ts';

/** An edge seen from the entity that it leads to. */
export type Incoming = { from: Kind; name: string; edge: Edge };

const outgoing = new Map(kinds.map((kind) => [kind, Object.entries(projections[kind].edges)]));

/** The edges that the documents of a kind declare, each with its name. */
export const edgesOf = (kind: Kind): [name: string, edge: Edge][] => outgoing.get(kind) ?? [];

const incoming = new Map<Kind, Incoming[]>(kinds.map((kind) => [kind, []]));
for (const kind of kinds)
  for (const [name, edge] of edgesOf(kind)) incoming.get(edge.to)?.push({ from: kind, name, edge });

/** The edges of all declarations that lead to a kind. */
export const incomingEdges = (kind: Kind): Incoming[] => incoming.get(kind) ?? [];

/** The kinds whose documents can depend on one of this kind. */
export const dependentKinds = (kind: Kind): Kind[] => [
  ...new Set(incomingEdges(kind).map(({ from }) => from)),
];

/** The fields of an entity's own state that decide what an edge resolves to. */
const fieldsOf = (edge: Edge): readonly string[] => {
  switch (edge.type) {
    case 'children':
      return [edge.parent, ...edge.fields];
    case 'refer':
    case 'through':
      return edge.fields;
    case 'owner':
      return [];
  }
};

const shown = new Map(
  kinds.map((kind) => [
    kind,
    [...new Set(['id', ...incomingEdges(kind).flatMap(({ edge }) => fieldsOf(edge))])],
  ]),
);

/** The fields of an entity's own state that documents show of it. `id` tells whether it has a state at all. */
export const shownFields = (kind: Kind): string[] => shown.get(kind) ?? [];

const field = <T = unknown>(state: unknown, name: string): T | undefined =>
  (state as Record<string, T> | undefined)?.[name];

/** The id that an entity's own state names in a field; '' where it names none. */
export const idIn = (state: unknown, name: string): string => field<string>(state, name) ?? '';

/** Whether two states show the same over an edge. A deleted entity shows nothing. */
const showsTheSame = (edge: Edge, before: unknown, after: unknown): boolean =>
  (before === undefined) === (after === undefined) &&
  fieldsOf(edge).every((name) => isDeepStrictEqual(field(before, name), field(after, name)));

/** The edges over which two states differ; all of them for a state that nothing is known of. */
export const changedEdges = (kind: Kind, before: { state?: unknown } | null, after: unknown): Incoming[] =>
  incomingEdges(kind).filter(({ edge }) => before === null || !showsTheSame(edge, before.state, after));

/** How a document names what it refers to. No edge has a colon in its name. */
export const refOf = (edgeName: string, id: string): string => `${edgeName}:${id}`;

/** The ids that a document's references name, by edge, in their order. */
export function idsByEdge(refs: string[]): Map<string, string[]> {
  const result = new Map<string, string[]>();
  for (const ref of refs) {
    const colon = ref.indexOf(':');
    const name = ref.slice(0, colon);
    const ids = result.get(name);
    if (ids) ids.push(ref.slice(colon + 1));
    else result.set(name, [ref.slice(colon + 1)]);
  }
  return result;
}

const rankOf = (kind: Kind, seen: Kind[] = []): number =>
  Object.values(projections[kind].edges)
    .filter(({ to }) => to !== kind)
    .reduce((rank, { to }) => {
      if (seen.includes(to))
        throw new Error(`the declared references form a cycle: ${[...seen, kind, to].join()}`);
      return Math.max(rank, 1 + rankOf(to, [...seen, kind]));
    }, 0);

const ranks = new Map(kinds.map((kind) => [kind, rankOf(kind)]));

/** The kinds that a kind's documents refer to, directly or not: applied first, each document is written once. */
export const prerequisites = (kind: Kind): Kind[] => kinds.filter((other) => reaches(kind, other));

const reaches = (from: Kind, to: Kind): boolean =>
  from !== to &&
  (ranks.get(to) ?? 0) < (ranks.get(from) ?? 0) &&
  Object.values(projections[from].edges).some(
    (edge) => edge.to === to || (edge.to !== from && reaches(edge.to, to)),
  );
