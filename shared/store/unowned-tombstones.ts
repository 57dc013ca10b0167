import type { Collection, Db } from 'mongodb';
import { tombstoneIndex, type Envelope, type Kind } from '../documents/document.ts';

/**
 * The Kafka tombstones of entities of which nothing is stored. A Kafka tombstone names no organization, which is the shard
 * key of entities, so these tombstones have a collection of their own.
 */
export const unownedTombstones = { collection: 'unownedTombstones', indexes: [tombstoneIndex] };

export const unownedTombstonesOf = <T extends Envelope = Envelope>(database: Db): Collection<T> =>
  database.collection<T>(unownedTombstones.collection);

/** The `_id` of an entity's unowned tombstone: kinds without an id prefix may share an id. */
export const unownedId = (kind: Kind, id: string): string => `${kind}/${id}`;

/** The entity's id in the `_id` of its unowned tombstone. */
export const idInUnownedId = (kind: Kind, unowned: string): string => unowned.slice(kind.length + 1);
