import type { IndexDescription } from 'mongodb';
import type { z } from 'zod';

/** The position of a record in the log. Offsets order records within a partition, `timestampMs` across partitions. */
export type Position = { partition: number; offset: number; timestampMs: number };

/**
 * The fields that every stored entity has besides its state. Each write draws a new `revision`, which guards
 * the next one; `version` is the entity's version in the source system. A deleted entity keeps only this envelope.
 */
export type Envelope = {
  _id: string;
  orgId: string;
  version: number;
  revision: number;
  /** The latest record with this version that a projector has seen; null without a record, or if its log is lost. */
  position: Position | null;
  /** The latest Kafka tombstone seen on this key, if any. */
  tombstonePosition?: Position;
  /** A `deleted` event has this version, so no other record of the version brings the entity back. */
  deletedByEvent?: true;
  /** When the deletion was applied. Absent unless the entity is deleted. */
  deletedAt?: Date;
  /** When the TTL index may remove the tombstone. Absent if the tombstone is kept forever. */
  expiresAt?: Date;
  /** The retention that a channel had when it was deleted, in days: its conversations expire as before. */
  dataRetentionDays?: number;
};

/**
 * A served document: the entity's state, and in `joined` the fields of the entities that it refers to. `refs` lists
 * every reference as `<edge>:<id>`, even while its target is missing, so one index finds the documents that embed an
 * entity. Only documents that lists show have sort keys, so list queries find only these.
 */
export type Document<EntityState, Joined = Record<never, never>> = Envelope & {
  state: EntityState;
  joined: Joined;
  refs: string[];
  byCreated?: string;
  byUpdated?: string;
  /** Set while a required reference is missing. The document is not served until it arrives. */
  pending?: true;
  /** When the document was written while its parent (a message's conversation) was missing. */
  orphanedAt?: Date;
};

type SortKeys = { byCreated?: string; byUpdated?: string };

/** An entity: the name and the content of its events, and how it is stored. `resources.ts` lists all. */
export type Entity<State> = {
  /** The name of its Kafka topic, after the prefix. */
  topic: string;
  /** The prefix of its ids; '' for any id. */
  idPrefix: string;
  /** The schema of `data` in its events. */
  state: z.ZodType<State>;
  /** An example of `data` in its events. Tests vary it, and the golden documents are made from it. */
  example: { id: string };
  collection: string;
  indexes: readonly (IndexDescription & { name: string })[];
  sortKeys: (state: State) => SortKeys;
};

/**
 * The TTL index that removes tombstones at the instant in `expiresAt`. The index is partial, so living documents cost
 * it no entries.
 */
export const tombstoneIndex = {
  name: 'expiry',
  key: { expiresAt: 1 },
  expireAfterSeconds: 0,
  partialFilterExpression: { expiresAt: { $exists: true } },
} as const satisfies IndexDescription;

/** Finds the documents that embed an entity, in the order of their ids. */
export const refsIndex = { name: 'references', key: { refs: 1, _id: 1 } } as const satisfies IndexDescription;
