import type { Document, Envelope, Position } from '../../../shared/documents/entity.ts';
import type { Kind } from '../../../shared/documents/resources.ts';

/** Progress of a large fan-out: the edge, the kind of its documents, and the last id refreshed. */
export type FanOutCursor = { from: Kind; edge: string; after: string };

/**
 * The state that a fan-out carries to dependents. A version that a Kafka tombstone has deleted, and that came again
 * after the tombstone, is another state: its `tombstonePosition` differs.
 */
export type FannedOut = {
  id: string;
  version: number;
  tombstonePosition: Position | undefined;
  isDeleted: boolean;
};

/** An entity's state as the store returns it: the fields that were asked for, by name. */
export type StoredState = Readonly<Record<string, unknown>>;

/** `orgId` is null after a Kafka tombstone of an unknown entity, because a Kafka tombstone names no organization. */
type OfAnyOrganization<T> = Omit<T, 'orgId'> & { orgId: string | null };

export type StoredEnvelope = OfAnyOrganization<Envelope>;

/** A document as the engine writes it; tombstones have no state. */
export type StoredDocument = OfAnyOrganization<
  Omit<Document<StoredState, object>, 'state' | 'joined' | 'refs'>
> & {
  state?: StoredState;
  joined?: object;
  refs?: string[];
  /** Set while a large fan-out of this state is in progress, so that it resumes after a crash. */
  fanOutCursor?: FanOutCursor;
};

/** The part of a document that the engine reads before a write. The state has the fields that edges need. */
export type Current = StoredEnvelope & Pick<StoredDocument, 'state' | 'refs' | 'orphanedAt' | 'fanOutCursor'>;

/** The part of an entity that its dependents are joined from. The state has the fields that edges need. */
export type ReferencedEntity = Pick<StoredDocument, '_id' | 'orgId' | 'revision' | 'deletedAt' | 'state'>;

export type Child = ReferencedEntity & { byCreated?: string };

/** The requested documents that one read has found. */
export type ReadDocuments = {
  documents: Current[];
  unreadable: Unreadable[];
  /** The ids that are still to be read. */
  remaining: string[];
};

/** The first children that a document shows: at most `max`, whose state names it in `parentField`. */
export type FirstChildren = { parentField: string; max: number };

/** The children that one read has found, of some parents. */
export type ReadFamilies = {
  /** The children of each parent that has any, by `byCreated`. */
  children: Map<string, Child[]>;
  /** The parents that are still to be read. */
  remaining: string[];
};

/** The fields that a `join` sets: those that do not come from the entity's state, and in a repair the sort keys. */
export type JoinedFields = Pick<
  StoredDocument,
  | '_id'
  | 'revision'
  | 'position'
  | 'tombstonePosition'
  | 'joined'
  | 'refs'
  | 'pending'
  | 'orphanedAt'
  | 'byCreated'
  | 'byUpdated'
>;

/**
 * The condition of a write: the stored document still has this revision. Null: the document does not exist.
 * `unreadable`: it still has this unreadable value in place of a revision.
 */
export type Guard = number | null | { unreadable: unknown };

/** A document whose envelope cannot be read, because an operator edited it. The engine treats it as absent. */
export type Unreadable = { _id: string; field: string; guard: Guard };

/** A guarded write: `put` writes the whole document; `join` leaves the state as it is. */
export type Write =
  | { op: 'put'; document: StoredDocument; guard: Guard }
  | { op: 'join'; document: JoinedFields; guard: number };

/** The writes that did not apply; the keys are the ids of their documents. */
export type Written = {
  /**
   * Null: the store only rolled the write back. A text: another document has this id. If later rounds read the same
   * guard again, no other writer is in the way, and the text becomes the reason of a refusal.
   */
  conflicted: Map<string, string | null>;
  /** The store refuses the document, with the reason. */
  refused: Map<string, string>;
};

/**
 * The port of the engine to its documents. Every acknowledged write is durable, and every later read sees it. A read of
 * several replies is not a snapshot. After an error, the writes in progress may have been applied or not.
 */
export type Store = {
  /** Reads documents by id, as far as bounded memory allows. */
  readCurrent: (kind: Kind, ids: string[]) => Promise<ReadDocuments>;
  /** The entities that others are joined from, by kind and id, without missing and unreadable ones. */
  readEntities: (ids: Map<Kind, Set<string>>) => Promise<Map<Kind, Map<string, ReferencedEntity>>>;
  /** Revisions by kind and id, without missing and unreadable ones. */
  readRevisions: (ids: Map<Kind, Set<string>>) => Promise<Map<Kind, Map<string, number>>>;
  /**
   * Reads the first children of each parent, as far as bounded memory allows: living entities of its organization, each
   * once. `parents` has the organization of each parent by its id.
   */
  readFirstChildren: (kind: Kind, by: FirstChildren, parents: Map<string, string>) => Promise<ReadFamilies>;
  /** Applies the writes in any order. */
  write: (kind: Kind, writes: Write[]) => Promise<Written>;
  /** Ids of the documents that refer to one of `refs`, in no order; null if there are more than one page. */
  findDependents: (kind: Kind, refs: string[]) => Promise<string[] | null>;
  /** A page of the ids after `after` of documents that refer to `ref`, in order; `next` is null at the end. */
  pageOfDependents: (
    kind: Kind,
    ref: string,
    after: string,
  ) => Promise<{ ids: string[]; next: string | null }>;
  /** Records the progress of a state's fan-out (null: complete), if the document still has that state. */
  saveFanOutCursor: (kind: Kind, of: FannedOut, cursor: FanOutCursor | null) => Promise<void>;
  /** Readable envelopes by id, also of tombstones. Their state has only the id. */
  readEnvelopes: (kind: Kind, ids: string[]) => Promise<(StoredEnvelope & Pick<StoredDocument, 'state'>)[]>;
};
