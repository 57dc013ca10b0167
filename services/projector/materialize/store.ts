import type { Document, Kind } from '../../../shared/documents/document.ts';

/** How far a fan-out has come: to which kind of documents, and up to which id of them. */
export type Place = { kind: Kind; after: string };

/**
 * A document as the engine handles it; `fanned` tells per edge what its dependents have been shown, `reached`
 * how far a fan-out that goes on has come.
 */
export type StoredDocument = Omit<Document<unknown, unknown>, 'own' | 'joined' | 'refs'> & {
  own?: unknown;
  joined?: unknown;
  refs?: string[];
  fanned?: Record<string, string>;
  reached?: Place;
};

/** What others may know of an entity: that it is there, whose it is, its own state. */
export type Referred = Pick<StoredDocument, '_id' | 'orgId' | 'deletedAt' | 'lapsed' | 'own'>;

/** What a write was built on: a stored document's revision, and its organization as the shard key. */
export type Guard = { revision: number; orgId: string | null };

/**
 * A guarded write: it applies only to what it was built on (null: nothing stored). `put` is the whole
 * document; `join` sets what was joined (and `at`, `cut`) and leaves the own state as it is; `fence` sets the
 * revision alone, so that no other write built on what was there applies any more.
 */
export type Write =
  | { op: 'put'; document: StoredDocument; guard: Guard | null }
  | { op: 'join' | 'fence'; document: StoredDocument; guard: Guard };

/** What an entity's dependents have been shown, and how far a fan-out that goes on has come. */
export type Mark = { id: string; revision: number; fanned: Record<string, string>; reached?: Place };

/**
 * The store as the engine needs it. Every read sees every acknowledged write; every acknowledged write is
 * durable. A failure rejects, and nothing is known of the writes then under way.
 */
export type Store = {
  /** Documents by id, without their bulky field; ids that are not there are left out. */
  read: (kind: Kind, ids: string[]) => Promise<StoredDocument[]>;
  /** The same, as far as bounded memory goes; `rest` has still to be read. At least one is read, if any is there. */
  readSome: (kind: Kind, ids: string[]) => Promise<{ documents: StoredDocument[]; rest: string[] }>;
  refer: (kind: Kind, ids: string[]) => Promise<Referred[]>;
  /** Living entities of a kind that name one of `ids` under `parent`. */
  children: (kind: Kind, parent: string, orgIds: string[], ids: string[]) => Promise<Referred[]>;
  /**
   * The earliest of those, by `byCreated`, for each parent of one organization that has any; with the head of
   * its bulky field alone.
   */
  firsts: (kind: Kind, parent: string, orgId: string, ids: string[]) => Promise<Map<string, Referred>>;
  /** Applies the writes in any order; gives the ids whose guard failed. */
  write: (kind: Kind, writes: Write[]) => Promise<Set<string>>;
  /**
   * A page of the ids behind `after` of documents that refer to one of `refs`, or name one of `ids` under
   * `parent`; in an order of the ids that stays. `next` is the place to go on from, null at the end.
   */
  dependents: (
    kind: Kind,
    orgIds: string[],
    by: { refs: string[] } | { parent: string; ids: string[] },
    after: string,
  ) => Promise<{ ids: string[]; next: string | null }>;
  /** Notes what dependents have been shown, where the document is still at that revision. */
  markFanned: (kind: Kind, marks: Mark[]) => Promise<void>;
};
