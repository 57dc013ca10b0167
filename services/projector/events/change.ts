import type { Position } from '../../../shared/documents/entity.ts';
import type { EntityState, Kind } from '../../../shared/documents/resources.ts';

/** A Kafka tombstone: a record with a null value, without a version. */
export type Tombstone = { op: 'tombstone'; id: string; time: Date; position: Position };

/** A deletion event of the source system, with its version. */
type Deletion = Omit<Tombstone, 'op'> & { op: 'delete'; orgId: string; version: number };

/** An event with the full state of an entity at a version. */
export type Upsert<K extends Kind = Kind> = Omit<Deletion, 'op'> & { op: 'upsert'; state: EntityState[K] };

/** The effect of a record on one entity of the topic's kind. */
export type Change<K extends Kind = Kind> = Upsert<K> | Deletion | Tombstone;
