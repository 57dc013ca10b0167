import type { Kind, Position } from '../../../shared/documents/document.ts';
import type { EntityState } from '../../../shared/documents/resources.ts';

/** A record as the bus delivers it, decompressed. */
export type KafkaRecord = {
  key: Buffer | null;
  value: Buffer | null;
  headers: Record<string, Buffer | string | (Buffer | string)[] | undefined>;
  position: Position;
};

/** The full state of an entity at a version. */
export type Upsert<K extends Kind = Kind> = {
  op: 'upsert';
  id: string;
  orgId: string;
  version: number;
  state: EntityState[K];
  time: Date;
  position: Position;
};

/** The product's deletion, with its version. */
export type Deletion = {
  op: 'delete';
  id: string;
  orgId: string;
  version: number;
  time: Date;
  position: Position;
};

/** Kafka's tombstone: a null value on the key, without a version. */
export type Tombstone = { op: 'tombstone'; id: string; time: Date; position: Position };

/** What a record means for one entity of the topic's kind. */
export type Change<K extends Kind = Kind> = Upsert<K> | Deletion | Tombstone;

/** Every reason for which a record is dead-lettered, with its meaning for an operator. */
export const rejectionReasons = {
  not_json: 'the value or the data is not JSON in UTF-8',
  bad_envelope: 'an attribute of CloudEvents is missing or not valid',
  unknown_type: 'the event type, or its version, is none of this topic',
  key_mismatch: "the record's key is not the entity's id",
  bad_data: 'a field of the state is missing, not valid or beyond its bound',
  wrong_organization: 'the entity is known under another organization',
  too_large: 'the state takes more than 8 MB in the store',
  refused_by_store: 'the store refuses the document',
} as const;

/** Why a record is dead-lettered; `detail` names fields and rules, never values. */
export type Rejection = { reason: keyof typeof rejectionReasons; detail: string };
