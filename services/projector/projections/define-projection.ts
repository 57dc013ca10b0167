import type { EntityState, Kind } from '../../../shared/documents/resources.ts';

/**
 * A reference of a document to other entities. A document never embeds the joined part of another, so one fan-out step
 * reaches every dependent.
 */
export type Edge<K extends Kind = never> = { name: string } & UnnamedEdge<K>;

type UnnamedEdge<K extends Kind> = ReferenceEdge<K> | ChildrenEdge | ThroughEdge | OwnerEdge;

/** Entities that the document's state names. */
type ReferenceEdge<K extends Kind> = Target & {
  type: 'reference';
  single: boolean;
  ids: (state: EntityState[K]) => string[];
};

/** The first `max` entities, by `byCreated`, whose state names the document in the field `parentField`. */
export type ChildrenEdge = Target & { type: 'children'; parentField: string; max: number };

/** Entities that the children of the edge `via` name in the field `field`. */
type ThroughEdge = Target & { type: 'through'; via: ChildrenEdge; field: string };

/** The entity that the document's state names in the field `parentField`; its deletion deletes the document. */
type OwnerEdge = Target & { type: 'owner'; parentField: string };

/** The referenced kind, and the fields of its state that the document embeds. Other fields refresh no dependent. */
type Target = { to: Kind; fields: readonly string[] };

/** The children of a document. `moreAfter` is null, or the sort key of the last of `max` children. */
type Children<T> = { items: T[]; moreAfter: string | null };

/** The edge `E`, which resolves to a value of type `T`. `resolved` only carries the type, and is never set. */
type EdgeTo<T, E> = E & { readonly resolved?: T };

/** The values to which edges resolve, by the names of the edges. */
type ValuesOf<E> = { [Name in keyof E]: E[Name] extends EdgeTo<infer T, unknown> ? T : never };

type FieldOf<K extends Kind> = keyof EntityState[K] & string;

/** Fields that contain an id. */
type IdField<S> = S extends unknown
  ? { [F in keyof S & string]: S[F] extends string | null ? F : never }[keyof S & string]
  : never;

/** The edges that a document of kind `K` can declare. */
type EdgeBuilders<K extends Kind> = {
  /** At most one entity; null if the state names no entity or the entity is missing. */
  one: <T extends Kind, F extends FieldOf<T>>(
    to: T,
    id: (state: EntityState[K]) => string | null,
    ...fields: F[]
  ) => EdgeTo<Pick<EntityState[T], F> | null, ReferenceEdge<K>>;
  /** Several entities in the order in which the state names them, without missing ones. */
  many: <T extends Kind, F extends FieldOf<T>>(
    to: T,
    ids: (state: EntityState[K]) => string[],
    ...fields: F[]
  ) => EdgeTo<Pick<EntityState[T], F>[], ReferenceEdge<K>>;
  /** The first `max` living entities of a kind that name the document in `parentField`, in order of creation. */
  childrenOf: <T extends Kind, F extends FieldOf<T>>(
    to: T,
    parentField: IdField<EntityState[T]>,
    max: number,
    ...fields: F[]
  ) => EdgeTo<Children<Pick<EntityState[T], F>>, ChildrenEdge>;
  /** The entities that children name in `field`, one of their fields, in no order. */
  through: <C, T extends Kind, F extends FieldOf<T>>(
    via: EdgeTo<Children<C>, ChildrenEdge>,
    field: IdField<C>,
    to: T,
    ...fields: F[]
  ) => EdgeTo<Pick<EntityState[T], F>[], ThroughEdge>;
  /** The entity that the state names in `parentField`. After its deletion the document is deleted too. */
  belongsTo: (to: Kind, parentField: IdField<EntityState[K]>) => EdgeTo<undefined, OwnerEdge>;
};

/** How the engine joins the documents of a kind. */
export type Projection<K extends Kind> = {
  /** In the order in which a document lists its references. */
  edges: Edge<K>[];
  /** The joined part of the document, from the values of its edges by name. Pure. */
  join: (values: Record<string, unknown>) => { joined: object; isPending: boolean };
  /** Whether a deleted entity never comes back. */
  deletionIsFinal: boolean;
};

const edgeBuilders = <K extends Kind>(): EdgeBuilders<K> => ({
  one: (to, id, ...fields) => ({
    type: 'reference',
    to,
    single: true,
    fields,
    ids: (state) => {
      const value = id(state);
      return value === null ? [] : [value];
    },
  }),
  many: (to, ids, ...fields) => ({ type: 'reference', to, single: false, fields, ids }),
  childrenOf: (to, parentField, max, ...fields) => ({ type: 'children', to, parentField, max, fields }),
  through: (via, field, to, ...fields) => ({ type: 'through', to, via, field, fields }),
  belongsTo: (to, parentField) => ({ type: 'owner', to, parentField, fields: [] }),
});

/** Declares how the documents of a kind are joined. For example, see ticket.ts. */
export function defineProjection<K extends Kind, E extends Record<string, UnnamedEdge<K>>, J extends object>(
  _kind: K,
  declareEdges: (builders: EdgeBuilders<K>) => E,
  joinValues: (values: ValuesOf<E>) => J,
  {
    isPending = () => false,
    deletionIsFinal = false,
  }: { isPending?: (joined: J) => boolean; deletionIsFinal?: boolean } = {},
): Projection<K> {
  const declared: Record<string, UnnamedEdge<K>> = declareEdges(edgeBuilders<K>());
  // Sets the names in place, because a `through` edge points to the object of its children edge.
  const edges = Object.entries(declared).map(([name, edge]): Edge<K> => Object.assign(edge, { name }));
  return {
    edges,
    join: (values) => {
      const joined = joinValues(values as ValuesOf<E>);
      return { joined, isPending: isPending(joined) };
    },
    deletionIsFinal,
  };
}
