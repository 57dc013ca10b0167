import type { Document, Kind } from '../../../shared/documents/document.ts';

/** A document as the engine handles it; `fanned` tells per edge what its dependents have been shown. */
export type StoredDocument = Omit<Document<unknown, unknown>, 'own' | 'joined' | 'refs'> & {
  own?: unknown;
  joined?: unknown;
  refs?: string[];
  fanned?: Record<string, string>;
};

/** What others may know of an entity: that it is there, whose it is, its own state. */
export type Referred = Pick<StoredDocument, '_id' | 'orgId' | 'deletedAt' | 'lapsed' | 'own'>;

/** What a write was built on: a stored document's revision, and its organization as the shard key. */
export type Guard = { revision: number; orgId: string | null };

/**
 * A guarded write: it applies only to what it was built on (null: nothing stored). `put` is the whole
 * document; `join` sets what was joined (and `at`, `cut`) and leaves the own state as it is.
 */
export type Write =
  | { op: 'put'; document: StoredDocument; guard: Guard | null }
  | { op: 'join'; document: StoredDocument; guard: Guard };

/**
 * The store as the engine needs it. Every read sees every acknowledged write; every acknowledged write is
 * durable. A failure rejects, and nothing is known of the writes then under way.
 */
export type Store = {
  /** Documents by id, without their bulky field; ids that are not there are left out. */
  read: (kind: Kind, ids: string[]) => Promise<StoredDocument[]>;
  refer: (kind: Kind, ids: string[]) => Promise<Referred[]>;
  /** Living entities of a kind that name one of `ids` under `parent`. */
  children: (kind: Kind, parent: string, orgIds: string[], ids: string[]) => Promise<Referred[]>;
  /** The earliest of those, by `byCreated`, for each parent of one organization that has any. */
  firsts: (kind: Kind, parent: string, orgId: string, ids: string[]) => Promise<Map<string, Referred>>;
  /** Applies the writes in any order; gives the ids whose guard failed. */
  write: (kind: Kind, writes: Write[]) => Promise<Set<string>>;
  /** Ids of documents that refer to one of `refs`, or name one of `parents` under `parent`, in chunks. */
  dependents: (
    kind: Kind,
    orgIds: string[],
    by: { refs: string[] } | { parent: string; ids: string[] },
  ) => AsyncIterable<string[]>;
  /** Notes what dependents have been shown, where the document is still at that revision. */
  markFanned: (
    kind: Kind,
    marks: { id: string; revision: number; fanned: Record<string, string> }[],
  ) => Promise<void>;
};
