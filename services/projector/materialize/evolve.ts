import type { Rejection } from '../../../shared/control/rejections.ts';
import type { Position } from '../../../shared/documents/entity.ts';
import { dayMs } from '../../../shared/documents/instant.ts';
import type { Change, Tombstone } from '../events/change.ts';
import type { StoredEnvelope, StoredState } from './store.ts';

/** An entity as stored, or as it is about to be: its envelope, and its state while it lives. */
export type Entity = Omit<StoredEnvelope, '_id' | 'revision'> & { state?: StoredState };

type Evolved = { entity: Entity | null; changed: boolean; rejected?: Rejection };

/** The kind's rule, the clock, and how long a tombstone stays. */
export type EvolveRules = { deletionIsFinal: boolean; now: Date; tombstoneDays: number };

/** Whether `a` comes after `b`: by offset within one partition, else by time, and in one millisecond by partition. */
export const isAfter = (a: Position, b: Position): boolean => {
  if (a.partition === b.partition) return a.offset > b.offset;
  return a.timestampMs === b.timestampMs ? a.partition > b.partition : a.timestampMs > b.timestampMs;
};

/**
 * Applies one change to an entity. The outcome depends on the set of changes, not on their order or repetition:
 * the highest version wins with its earliest record, a deletion wins over an equal version, and the latest tombstone
 * deletes everything before it. See Invariant 1 in docs/internals/consistency.md.
 */
export function evolve(current: Entity | null, change: Change, rules: EvolveRules): Evolved {
  if (change.op === 'tombstone') return evolveTombstone(current, change.position, rules);
  if (current?.orgId && current.orgId !== change.orgId) {
    const detail = 'orgid: the entity is known under another organization';
    return { entity: current, changed: false, rejected: { reason: 'wrong_organization', detail } };
  }
  if (current && isLateDeletion(current, change, rules))
    return { entity: toTombstone({ ...current, position: change.position }, rules), changed: true };
  if (current && change.version < current.version) return { entity: current, changed: false };
  if (current && change.version === current.version) return evolveDuplicate(current, change, rules);
  const { orgId, version, position } = change;
  const next: Entity = { orgId, version, position };
  if (current?.tombstonePosition) next.tombstonePosition = current.tombstonePosition;
  const isDeleted =
    change.op === 'delete' ||
    (rules.deletionIsFinal && current?.deletedAt !== undefined) ||
    isBeforeTombstone(next);
  if (change.op === 'upsert') next.state = change.state;
  if (!isDeleted) return { entity: next, changed: true };
  // With the fields of `current`: its retention, and the times of an earlier deletion.
  return { entity: toTombstone({ ...current, ...next }, rules), changed: true };
}

/**
 * A deleted entity: the envelope alone, without personal data. MongoDB drops it after `tombstoneDays`; never if the
 * deletion is final, or if a channel had a retention, under which its conversations still expire: Invariant 12. An
 * earlier deletion keeps its times.
 */
export function toTombstone(entity: Entity, rules: EvolveRules): Entity {
  const { orgId, version, position, tombstonePosition, deletedAt = rules.now } = entity;
  const dataRetentionDays = retentionDaysOf(entity);
  const isKept = rules.deletionIsFinal || dataRetentionDays > 0;
  const expiresAt = new Date(rules.now.getTime() + rules.tombstoneDays * dayMs);
  const tombstone: Entity = { orgId, version, position, deletedAt };
  if (tombstonePosition) tombstone.tombstonePosition = tombstonePosition;
  if (!isKept) tombstone.expiresAt = (entity.deletedAt && entity.expiresAt) ?? expiresAt;
  if (dataRetentionDays > 0) tombstone.dataRetentionDays = dataRetentionDays;
  return tombstone;
}

/** The retention of a channel: in its state while it has one, then in its envelope. */
const retentionDaysOf = (entity: Entity): number =>
  Number((entity.state ? entity.state.dataRetentionDays : entity.dataRetentionDays) ?? 0);

function evolveTombstone(current: Entity | null, position: Position, rules: EvolveRules): Evolved {
  const known: Entity = current ?? { orgId: null, version: 0, position: null };
  if (known.tombstonePosition && !isAfter(position, known.tombstonePosition))
    return { entity: known, changed: false };
  const next = { ...known, tombstonePosition: position };
  // A conversation cannot come back after its deletion, so its tombstone deletes the later versions too.
  const isOlder = !rules.deletionIsFinal && known.position && !isAfter(position, known.position);
  if (known.deletedAt || isOlder) return { entity: next, changed: true };
  return { entity: toTombstone(next, rules), changed: true };
}

/**
 * Whether a deletion counts although its version is not higher. At an equal version it wins, and a final one wins
 * whatever its version: after partitions were added, it may be read after later versions.
 */
const isLateDeletion = (current: Entity, change: Exclude<Change, Tombstone>, rules: EvolveRules): boolean =>
  change.op === 'delete' &&
  !current.deletedAt &&
  (change.version === current.version || (rules.deletionIsFinal && change.version < current.version));

/**
 * A duplicate matters in two cases. An earlier record of the version may be before a tombstone, which then deletes it.
 * And any other restores a state that the sweep has purged, to be served or purged again under the current retention.
 */
function evolveDuplicate(current: Entity, change: Exclude<Change, Tombstone>, rules: EvolveRules): Evolved {
  const { position } = change;
  if (change.op === 'upsert' && current.state === undefined && !current.deletedAt) {
    const { expiresAt: _expiresAt, ...remaining } = current;
    return { entity: afterTombstone({ ...remaining, position, state: change.state }, rules), changed: true };
  }
  const isFinal = rules.deletionIsFinal && current.deletedAt !== undefined;
  if (isFinal || !current.position || !isAfter(current.position, position))
    return { entity: current, changed: false };
  return { entity: afterTombstone({ ...current, position }, rules), changed: true };
}

/** Whether the record of an entity comes before its latest tombstone, which then deletes the entity. */
const isBeforeTombstone = ({ position, tombstonePosition }: Entity): boolean =>
  Boolean(position && tombstonePosition && isAfter(tombstonePosition, position));

const afterTombstone = (entity: Entity, rules: EvolveRules): Entity =>
  isBeforeTombstone(entity) ? toTombstone(entity, rules) : entity;
