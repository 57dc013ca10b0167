import type { Document, Envelope, Position } from '../../../shared/documents/entity.ts';
import type { Kind } from '../../../shared/documents/resources.ts';

/** Progress of a large fan-out: the edge, the kind of its documents, and the last id refreshed. */
export type FanOutCursor = { from: Kind; edge: string; after: string };

/**
 * Identifies the state that a fan-out carries to dependents. An entity can return with the same version after a Kafka
 * tombstone. That is a different state: its `tombstonePosition` differs.
 */
export type FannedOutState = {
  id: string;
  version: number;
  tombstonePosition: Position | undefined;
  isDeleted: boolean;
};

/** An entity's state as the store returns it: the requested fields, by name. */
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
export type CurrentDocument = StoredEnvelope &
  Pick<StoredDocument, 'state' | 'refs' | 'orphanedAt' | 'fanOutCursor'>;

/** The part of an entity that its dependents are joined from. The state has the fields that edges need. */
export type ReferencedEntity = Pick<StoredDocument, '_id' | 'orgId' | 'revision' | 'deletedAt' | 'state'>;

export type Child = ReferencedEntity & { byCreated?: string };

/** The result of one read of documents by id, as far as bounded memory allows. */
export type DocumentsPage = {
  documents: CurrentDocument[];
  unreadable: UnreadableDocument[];
  /** The ids that are still to be read. */
  remaining: string[];
};

/** The first children that a document shows: at most `max` entities whose state names the document in `parentField`. */
export type FirstChildrenQuery = { parentField: string; max: number };

/** The result of one read of children, as far as bounded memory allows. */
export type ChildrenPage = {
  /** The children of each parent that has any, by `byCreated`. */
  children: Map<string, Child[]>;
  /** The parents that are still to be read. */
  remaining: string[];
};

/** The fields that a `join` sets. They do not come from the entity's state, apart from the sort keys in a repair. */
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
export type UnreadableDocument = { _id: string; field: string; guard: Guard };

/** A guarded write: `put` writes the whole document; `join` leaves the state as it is. */
export type Write =
  | { op: 'put'; document: StoredDocument; guard: Guard }
  | { op: 'join'; document: JoinedFields; guard: number };

/** The writes that did not apply; the keys are the ids of their documents. */
export type WriteResult = {
  /**
   * The value is null if the store only rolled the write back. A text states that another document has this id. If the
   * guard is unchanged each time that the engine reads again, there was no competing write, and the engine rejects the
   * record with this text.
   */
  conflicted: Map<string, string | null>;
  /** The reasons why the store refuses documents. */
  refused: Map<string, string>;
};

/**
 * The port of the engine to its documents. Every acknowledged write is durable, and every later read sees it. A read of
 * several replies is not a snapshot. After an error, the writes in progress may have been applied or not.
 */
export type Store = {
  /** Reads documents by id, as far as bounded memory allows. */
  readCurrent: (kind: Kind, ids: string[]) => Promise<DocumentsPage>;
  /** Reads the entities from which others are joined, by kind and id. Leaves out missing and unreadable ones. */
  readEntities: (ids: Map<Kind, Set<string>>) => Promise<Map<Kind, Map<string, ReferencedEntity>>>;
  /** Reads revisions by kind and id. Leaves out missing and unreadable ones. */
  readRevisions: (ids: Map<Kind, Set<string>>) => Promise<Map<Kind, Map<string, number>>>;
  /**
   * Reads the first children of each parent, as far as bounded memory allows: living entities of its organization, each
   * once. `parents` has the organization of each parent by its id.
   */
  readFirstChildren: (
    kind: Kind,
    by: FirstChildrenQuery,
    parents: Map<string, string>,
  ) => Promise<ChildrenPage>;
  /** Applies the writes in any order. */
  write: (kind: Kind, writes: Write[]) => Promise<WriteResult>;
  /** Finds the ids of the documents that refer to one of `refs`, in no order; null if there is more than one page. */
  findDependents: (kind: Kind, refs: string[]) => Promise<string[] | null>;
  /** Finds the next ids after `after` of documents that refer to `ref`, in order; `next` is null at the end. */
  findDependentsPage: (
    kind: Kind,
    ref: string,
    after: string,
  ) => Promise<{ ids: string[]; next: string | null }>;
  /** Saves the progress of a state's fan-out (null: complete), if the document still has that state. */
  saveFanOutCursor: (kind: Kind, state: FannedOutState, cursor: FanOutCursor | null) => Promise<void>;
  /** Reads the readable envelopes of entities and tombstones by id. Their state has only the id. */
  readEnvelopes: (kind: Kind, ids: string[]) => Promise<(StoredEnvelope & Pick<StoredDocument, 'state'>)[]>;
};
