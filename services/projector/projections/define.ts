import type { Kind } from '../../../shared/documents/document.ts';
import type { Own } from '../../../shared/documents/resources.ts';

/**
 * A reference of a document to other entities. `take` picks, from the *own state* of what is referred to,
 * exactly what the document needs; a change that `take` does not show reaches no dependent. It never sees
 * what an entity joined itself, so one fan-out step reaches everything.
 */
export type Edge =
  /** Entities that the document's own state names. */
  | { type: 'refer'; to: Kind; single: boolean; ids: (own: never) => string[]; take: (own: never) => unknown }
  /** Entities whose own state names the document as its parent. */
  | { type: 'children'; to: Kind; parent: string; take: (own: never) => unknown }
  /** The first of those, by `byCreated`. */
  | { type: 'first'; to: Kind; single: true; parent: string; take: (own: never) => unknown }
  /** Entities that the children found over another edge name. */
  | { type: 'through'; via: string; to: Kind; id: (child: never) => string; take: (own: never) => unknown }
  /** The entity whose deletion takes the document along. */
  | { type: 'owner'; to: Kind; parent: string };

/** An edge, and the type in which `document` receives what it resolved to. */
export type Typed<T> = Edge & { readonly resolved?: T };

/** At most one entity; null when none is named or it is missing. */
export const one = <K extends Kind, From extends Kind, T>(
  to: K,
  id: (own: Own[From]) => string | null,
  take: (own: Own[K]) => T,
): Typed<T | null> => {
  const ids = (own: Own[From]) => [id(own)].filter((value) => value !== null);
  return { type: 'refer', to, single: true, ids, take };
};

/** Several entities in the order in which the document names them; the missing are left out. */
export const many = <K extends Kind, From extends Kind, T>(
  to: K,
  ids: (own: Own[From]) => string[],
  take: (own: Own[K]) => T,
): Typed<T[]> => ({ type: 'refer', to, single: false, ids, take });

/** Every living entity of a kind that names the document under `parent`, in no order. */
export const childrenOf = <K extends Kind, T>(
  to: K,
  parent: keyof Own[K] & string,
  take: (own: Own[K]) => T,
): Typed<T[]> => ({ type: 'children', to, parent, take });

/** The earliest of those, or null. */
export const firstChildOf = <K extends Kind, T>(
  to: K,
  parent: keyof Own[K] & string,
  take: (own: Own[K]) => T,
): Typed<T | null> => ({ type: 'first', to, single: true, parent, take });

/** What the children found over the edge `via` refer to, in no order. */
export const through = <C extends Kind, K extends Kind, T>(
  via: string,
  to: K,
  id: (child: Own[C]) => string,
  take: (own: Own[K]) => T,
): Typed<T[]> => ({ type: 'through', via, to, id, take });

/** The entity named under `parent`: once it is deleted, so is this. */
export const belongsTo = <K extends Kind>(to: K, parent: string): Typed<undefined> => ({
  type: 'owner',
  to,
  parent,
});

/** What the engine needs to keep the documents of one kind. */
export type Projection = {
  kind: Kind;
  edges: Record<string, Edge>;
  /** The joined part of the document, from what its edges resolved to. Pure. */
  document: (resolved: never) => object;
  /** Whether the document cannot be shown yet. */
  isPending: (joined: never) => boolean;
  /** When the document's retention passes; null: never. */
  keptUntil: (own: never, joined: never) => Date | null;
  /** Deleted once, an entity never comes back. */
  deletionIsFinal: boolean;
  /**
   * A field of `own` that can be large and that no edge of this document reads. Documents that show this one
   * as their first child are given no more than its first `headMax` characters (code points).
   */
  bulky?: { field: string; headMax: number };
};

type Resolved<E extends Record<string, Typed<unknown>>> = {
  [Name in keyof E]: E[Name] extends Typed<infer T> ? T : never;
};

/** Declares how the documents of a kind are joined; see the files beside this one. */
export function define<K extends Kind, E extends Record<string, Typed<unknown>>, J extends object>(
  kind: K,
  projection: {
    refers: E;
    document: (resolved: Resolved<E>) => J;
    isPending?: (joined: J) => boolean;
    keptUntil?: (own: Own[K], joined: J) => Date | null;
    deletionIsFinal?: boolean;
    bulky?: { field: keyof Own[K] & string; headMax: number };
  },
): Projection {
  const { refers, document, bulky, deletionIsFinal = false } = projection;
  const { isPending = () => false, keptUntil = () => null } = projection;
  const rest = bulky ? { bulky } : {};
  return { kind, edges: refers, document, isPending, keptUntil, deletionIsFinal, ...rest };
}
