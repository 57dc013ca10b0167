import type { Document, Envelope, Kind } from '../../../shared/documents/document.ts';

/** How far a large fan-out has come: over which edge to which kind of documents, and up to which id of them. */
export type FanOutCursor = { from: Kind; edge: string; after: string };

/** A document as the engine writes it; tombstones have no state of their own. */
export type StoredDocument = Omit<Document<unknown, unknown>, 'state' | 'joined' | 'refs'> & {
  state?: unknown;
  joined?: unknown;
  refs?: string[];
  /** Set while a fan-out of this state goes on that has to be resumed after a crash. */
  fanOutCursor?: FanOutCursor;
  /** When the store refused the document as its references would have it; it shows an older state of those. */
  notRefreshedAt?: Date;
};

/** What the engine reads of a document before it writes it: of its own state, the fields that edges need. */
export type Current = Envelope & Pick<StoredDocument, 'state' | 'refs' | 'fanOutCursor'>;

/** What a document shows of an entity: that it is there, whose it is, the fields that edges need. */
export type ReferencedEntity = Pick<StoredDocument, '_id' | 'orgId' | 'revision' | 'deletedAt' | 'state'>;

export type Child = ReferencedEntity & { byCreated?: string };

/** What a write was built on: a stored document's revision, and its organization as the shard key. */
export type Guard = { revision: number; orgId: string | null };

/** What `join` sets: all that does not come from the entity's own state. */
export type JoinedFields = Pick<
  StoredDocument,
  | '_id'
  | 'orgId'
  | 'revision'
  | 'position'
  | 'tombstonePosition'
  | 'joined'
  | 'refs'
  | 'pending'
  | 'orphanedAt'
>;

/**
 * A guarded write: it applies only to what it was built on (null: nothing stored). `put` is the whole document;
 * `join` leaves the own state as it is.
 */
export type Write =
  | { op: 'put'; document: StoredDocument; guard: Guard | null }
  | { op: 'join'; document: JoinedFields; guard: Guard };

/** Ids of writes that did not apply: a guard failed, or the store refuses the document for what it is, and why. */
export type Written = { conflicted: Set<string>; refused: Map<string, string> };

/**
 * The store as the engine needs it. Every read sees every acknowledged write; every acknowledged write is durable.
 * A read that needs several replies is no snapshot. A failure rejects, and nothing is known of the writes then
 * in progress.
 */
export type Store = {
  /** Documents by id, as far as bounded memory goes; `rest` has still to be read. */
  readCurrent: (kind: Kind, ids: string[]) => Promise<{ documents: Current[]; remaining: string[] }>;
  /** Referenced entities by id; ids that are not there are left out. */
  readReferenced: (kind: Kind, ids: string[]) => Promise<ReferencedEntity[]>;
  /** Revisions by id; ids that are not there are left out. */
  readRevisions: (kind: Kind, ids: string[]) => Promise<Map<string, number>>;
  /**
   * For each parent (its organization by its id) the first `max` living entities of that organization that name it
   * under `parent`, by `byCreated`, each once; as far as bounded memory goes, `rest` being the parents that have
   * still to be read.
   */
  readFirstChildren: (
    kind: Kind,
    by: { parent: string; max: number },
    parents: Map<string, string>,
  ) => Promise<{ children: Map<string, Child[]>; remaining: string[] }>;
  /** Applies the writes in any order. */
  write: (kind: Kind, writes: Write[]) => Promise<Written>;
  /** Ids of the documents that refer to one of `refs`, in no order; null where they are more than a page. */
  findDependents: (kind: Kind, orgIds: string[], refs: string[]) => Promise<string[] | null>;
  /** A page of the ids behind `after` of documents that refer to `ref`, in order; `next` is null at the end. */
  pageOfDependents: (
    kind: Kind,
    orgId: string,
    ref: string,
    after: string,
  ) => Promise<{ ids: string[]; next: string | null }>;
  /** Records how far the fan-out of a state has come (null: it is complete), where the document still has that. */
  saveFanOutCursor: (
    kind: Kind,
    of: { id: string; version: number; isDeleted: boolean },
    cursor: FanOutCursor | null,
  ) => Promise<void>;
  /** Marks a document that could not be refreshed, where it is still at that revision. */
  markNotRefreshed: (kind: Kind, of: { id: string; revision: number }, when: Date) => Promise<void>;
  /** Documents by id, tombstones too, without their states; `state` tells that there is one. */
  readEnvelopes: (kind: Kind, ids: string[]) => Promise<(Envelope & { state?: unknown })[]>;
};
