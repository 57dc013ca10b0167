import type { Kind } from '../../../shared/documents/document.ts';
import type { EntityState } from '../../../shared/documents/resources.ts';

/**
 * A reference of a document to other entities. `fields` names the fields of the *own state* of what is referred to
 * that the document shows: they alone are read, and a change of others reaches no dependent. A document never sees
 * what an entity joined itself, so one fan-out step reaches everything.
 */
export type Edge =
  /** Entities that the document's own state names. */
  | { type: 'refer'; to: Kind; single: boolean; ids: (state: never) => string[]; fields: readonly string[] }
  /** The first `max` entities, by `byCreated`, whose own state names the document under `parent`. */
  | { type: 'children'; to: Kind; parent: string; max: number; fields: readonly string[] }
  /** Entities that the children found over the edge `via` name in their field `field`. */
  | { type: 'through'; to: Kind; via: string; field: string; fields: readonly string[] }
  /** The entity whose deletion takes the document along. */
  | { type: 'owner'; to: Kind; parent: string };

/** An edge, and the type in which `document` receives what it resolved to. */
export type Typed<T> = Edge & { readonly resolved?: T };

/** What a children edge resolves to. `moreAfter` is null, or the last one's sort key where there are `max` of them. */
export type Children<T> = { items: T[]; moreAfter: string | null };

type Field<K extends Kind> = keyof EntityState[K] & string;

/** The edges that a document of kind `K` can declare. */
export type Edges<K extends Kind> = {
  /** At most one entity; null when none is named or it is missing. */
  one: <T extends Kind, F extends Field<T>>(
    to: T,
    id: (state: EntityState[K]) => string | null,
    ...fields: F[]
  ) => Typed<Pick<EntityState[T], F> | null>;
  /** Several entities in the order in which the document names them; the missing are left out. */
  many: <T extends Kind, F extends Field<T>>(
    to: T,
    ids: (state: EntityState[K]) => string[],
    ...fields: F[]
  ) => Typed<Pick<EntityState[T], F>[]>;
  /** The first `max` living entities of a kind that name the document under `parent`, by creation. */
  childrenOf: <T extends Kind, F extends Field<T>>(
    to: T,
    parent: Field<T>,
    max: number,
    ...fields: F[]
  ) => Typed<Children<Pick<EntityState[T], F>>>;
  /** What the children found over the edge `via` name in `field`, in no order. */
  through: <T extends Kind, F extends Field<T>>(
    to: T,
    via: string,
    field: string,
    ...fields: F[]
  ) => Typed<Pick<EntityState[T], F>[]>;
  /** The entity named under `parent`: once it is deleted, so is this. */
  belongsTo: (to: Kind, parent: Field<K>) => Typed<undefined>;
};

/** What the engine needs to keep the documents of one kind. */
export type Projection = {
  kind: Kind;
  edges: Record<string, Edge>;
  /** The joined part of the document, from what its edges resolved to. Pure. */
  document: (resolved: never) => object;
  /** Whether the document cannot be shown yet. */
  isPending: (joined: never) => boolean;
  /** Deleted once, an entity never comes back. */
  deletionIsFinal: boolean;
};

type Resolved<E extends Record<string, Typed<unknown>>> = {
  [Name in keyof E]: E[Name] extends Typed<infer T> ? T : never;
};

const edges: Edges<Kind> = {
  one: (to, id, ...fields) => ({
    ...{ type: 'refer', to, single: true, fields },
    ids: (state: EntityState[Kind]) => [id(state)].filter((value) => value !== null),
  }),
  many: (to, ids, ...fields) => ({ type: 'refer', to, single: false, fields, ids }),
  childrenOf: (to, parent, max, ...fields) => ({ type: 'children', to, parent, max, fields }),
  through: (to, via, field, ...fields) => ({ type: 'through', to, via, field, fields }),
  belongsTo: (to, parent) => ({ type: 'owner', to, parent }),
};

/** Declares how the documents of a kind are joined; see the files beside this one. */
export function defineProjection<K extends Kind, E extends Record<string, Typed<unknown>>, J extends object>(
  kind: K,
  refers: (edges: Edges<K>) => E,
  document: (resolved: Resolved<E>) => J,
  rules: { isPending?: (joined: J) => boolean; deletionIsFinal?: boolean } = {},
): Projection {
  const { isPending = () => false, deletionIsFinal = false } = rules;
  return { kind, edges: refers(edges as unknown as Edges<K>), document, isPending, deletionIsFinal };
}
