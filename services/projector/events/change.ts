import type { Kind, Position } from '../../../shared/documents/document.ts';
import type { Own } from '../../../shared/documents/resources.ts';

/** A record as the bus delivers it, decompressed. */
export type BusRecord = {
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
  own: Own[K];
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

/** Not from the bus: at this version, the entity's retention of so many days has passed. */
export type Lapse = { op: 'lapse'; id: string; version: number; days: number };

/** What a record means for one entity of the topic's kind. */
export type Change<K extends Kind = Kind> = Upsert<K> | Deletion | Tombstone;

export const rejectionReasons = [
  'not_json',
  'bad_envelope',
  'unknown_type',
  'key_mismatch',
  'bad_data',
  'wrong_organization',
  'too_large',
] as const;

/** Why a record was set aside; `detail` names fields and rules, never values. */
export type Rejection = { reason: (typeof rejectionReasons)[number]; detail: string };
