import type { IndexDescription } from 'mongodb';

/** The eleven entities of the bus, each with one collection of the same word in the plural. */
export const kinds = [
  'apiKey',
  'contact',
  'user',
  'agent',
  'tag',
  'topic',
  'channel',
  'ticket',
  'conversation',
  'message',
  'qa',
] as const;

export type Kind = (typeof kinds)[number];

/** Where a record stands in the log; `timestampMs` orders records of different partitions, offsets those of one. */
export type Position = { partition: number; offset: number; timestampMs: number };

/**
 * What every stored entity carries besides its own state. `revision` counts the writes of the document and
 * guards each of them; `version` is the entity's own. A deleted entity keeps only this envelope.
 */
export type Envelope = {
  _id: string;
  /** Null only where a tombstone came before anything that names the organization. */
  orgId: string | null;
  version: number;
  revision: number;
  /** The earliest record seen with this version. */
  position: Position | null;
  /** The latest Kafka tombstone seen on this key, if any. */
  tombstonePosition?: Position;
  /** When the deletion was applied; absent on a living document. */
  deletedAt?: Date;
  /** When the store may drop a tombstone (TTL); absent where the deletion is final. */
  expiresAt?: Date;
};

/**
 * A served document: the entity's own state, and what its references resolved to. `refs` names everything it
 * refers to as `<edge>:<id>`, edge being its name in the declaration, even while that is missing, so that one index
 * finds the documents that embed an entity. Sort keys stand only on documents that lists show, so that no list query can meet another.
 */
export type Document<EntityState, Joined = Record<never, never>> = Envelope & {
  state: EntityState;
  joined: Joined;
  refs: string[];
  byCreated?: string;
  byUpdated?: string;
  /** Set while something without which the document cannot be shown is missing. */
  pending?: true;
  /** When the document was written while its owner (a message's conversation) was missing. */
  orphanedAt?: Date;
};

/** What the store must know of a resource: its collection, indexes and sort keys. */
export type Resource<EntityState> = {
  collection: string;
  indexes: IndexDescription[];
  sortKeys: (state: EntityState) => { byCreated?: string; byUpdated?: string };
};

/** Tombstones leave by this index, `expiresAt` being the instant itself. */
export const tombstoneIndex: IndexDescription = {
  name: 'tombstones',
  key: { expiresAt: 1 },
  expireAfterSeconds: 0,
};

/** Finds the documents that embed an entity, in the order of their ids. */
export const refsIndex: IndexDescription = { name: 'references', key: { refs: 1, orgId: 1, _id: 1 } };

/** Finds the documents whose refresh the store refused. */
export const notRefreshedIndex: IndexDescription = {
  name: 'notRefreshed',
  key: { notRefreshedAt: 1 },
  partialFilterExpression: { notRefreshedAt: { $exists: true } },
};
