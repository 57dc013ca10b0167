import type { Rejection } from '../../../shared/control/rejections.ts';
import type { Position } from '../../../shared/documents/entity.ts';
import { dayMs } from '../../../shared/documents/instant.ts';
import type { Change, Tombstone } from '../events/change.ts';
import type { StoredEnvelope, StoredState } from './store.ts';

/** An entity as it is stored, or will be: its envelope, and its state unless it is deleted. */
export type Entity = Omit<StoredEnvelope, '_id' | 'revision'> & { state?: StoredState };

/** A change that carries a version. */
type StateChange = Exclude<Change, Tombstone>;

type Evolved = { entity: Entity | null; changed: boolean; rejected?: Rejection };

export type EvolveRules = {
  /** Whether no record brings an entity of this kind back after its deletion. */
  deletionIsFinal: boolean;
  now: Date;
  /** The days after which MongoDB removes a tombstone. */
  tombstoneDays: number;
};

/** Whether `a` is later than `b`. Compares offsets within a partition, otherwise times, then partitions. */
export const isAfter = (a: Position, b: Position): boolean => {
  if (a.partition === b.partition) return a.offset > b.offset;
  return a.timestampMs === b.timestampMs ? a.partition > b.partition : a.timestampMs > b.timestampMs;
};

/**
 * Applies one change to an entity. The outcome depends on the set of changes, not on their order or repetition: the
 * highest version counts, a `deleted` event wins over a state of its own version, and the latest Kafka tombstone
 * deletes a version that has no record after it. See Invariant 1 in docs/internals/consistency.md.
 */
export function evolve(current: Entity | null, change: Change, rules: EvolveRules): Evolved {
  if (change.op === 'tombstone') return evolveTombstone(current, change.position, rules);
  if (current?.orgId && current.orgId !== change.orgId) {
    const detail = 'orgid: the entity is known under another organization';
    return { entity: current, changed: false, rejected: { reason: 'wrong_organization', detail } };
  }
  if (!current || change.version > current.version) return evolveNewer(current, change, rules);
  if (change.version === current.version) return evolveSame(current, change, rules);
  // After partitions were added, a worker may read a final deletion after later versions.
  if (change.op === 'delete' && rules.deletionIsFinal && !current.deletedAt)
    return { entity: toTombstone(current, rules), changed: true };
  return { entity: current, changed: false };
}

/**
 * Whether a change repeats an earlier record of the log, because the source system has appended records again. A
 * repetition changes nothing that readers see, unless it brings back an entity that a tombstone has deleted.
 */
export function isRepetition(before: Entity | null, change: Change): boolean {
  if (change.op === 'tombstone' || !before?.position || change.version > before.version) return false;
  if (!isAfter(change.position, before.position)) return false;
  if (change.op === 'delete') return before.deletedAt !== undefined;
  return change.version < before.version || before.state !== undefined || before.deletedByEvent === true;
}

/** Applies a version higher than the stored one. A tombstone after the record deletes the entity nevertheless. */
function evolveNewer(current: Entity | null, change: StateChange, rules: EvolveRules): Evolved {
  const { orgId, version, position } = change;
  const next: Entity = { orgId, version, position };
  if (current?.tombstonePosition) next.tombstonePosition = current.tombstonePosition;
  if (change.op === 'delete') next.deletedByEvent = true;
  else next.state = change.state;
  const isFinal = rules.deletionIsFinal && current?.deletedAt !== undefined;
  if (!next.deletedByEvent && !isFinal && !isBeforeTombstone(next)) return { entity: next, changed: true };
  // A second deletion keeps the retention and the time of the first one.
  const { deletedByEvent: _ofEarlierVersion, ...earlier } = current ?? {};
  return { entity: toTombstone({ ...earlier, ...next }, rules), changed: true };
}

/**
 * Applies another record of the stored version. Such a record has an effect in three cases:
 *
 *   a `deleted` event                      deletes the version
 *   a record after all earlier ones        may come after a tombstone, which then no longer deletes the version
 *   a state that the sweep has purged      is stored again, and served or purged under the current retention
 */
function evolveSame(current: Entity, change: StateChange, rules: EvolveRules): Evolved {
  const isLater = !current.position || isAfter(change.position, current.position);
  if (!isLater && !completes(current, change)) return { entity: current, changed: false };
  const next: Entity = { ...current };
  if (isLater) next.position = change.position;
  if (change.op === 'delete') next.deletedByEvent = true;
  const isFinal = rules.deletionIsFinal && current.deletedAt !== undefined;
  if (next.deletedByEvent || isFinal || isBeforeTombstone(next))
    return { entity: toTombstone(next, rules), changed: true };
  const lacksState = change.op === 'upsert' && current.state === undefined;
  return { entity: lacksState ? revived(next, change.state) : next, changed: true };
}

/** Whether a record has an effect, although a later record of the same version is applied. */
const completes = (current: Entity, change: StateChange): boolean =>
  change.op === 'delete' ? !current.deletedByEvent : current.state === undefined && !current.deletedAt;

/** The entity with its state again, and without the fields of a deletion. */
function revived(entity: Entity, state: StoredState): Entity {
  const { deletedAt: _deletedAt, expiresAt: _expiresAt, dataRetentionDays: _days, ...living } = entity;
  return { ...living, state };
}

/**
 * Returns a deleted entity: only the envelope, without personal data. MongoDB removes it `tombstoneDays` after the
 * latest record that changed it. It stays forever if the deletion is final, or if a channel had a retention, under
 * which its conversations still expire: Invariant 12. A second deletion keeps the time of the first.
 */
export function toTombstone(entity: Entity, rules: EvolveRules): Entity {
  const { orgId, version, position, tombstonePosition, deletedByEvent, deletedAt = rules.now } = entity;
  const dataRetentionDays = retentionDaysOf(entity);
  const tombstone: Entity = { orgId, version, position, deletedAt };
  if (tombstonePosition) tombstone.tombstonePosition = tombstonePosition;
  if (deletedByEvent) tombstone.deletedByEvent = true;
  if (dataRetentionDays > 0) tombstone.dataRetentionDays = dataRetentionDays;
  else if (!rules.deletionIsFinal)
    tombstone.expiresAt = new Date(rules.now.getTime() + rules.tombstoneDays * dayMs);
  return tombstone;
}

/** Returns the retention of a channel. The envelope has it once a deleted channel has no state. */
const retentionDaysOf = (entity: Entity): number =>
  Number((entity.state ? entity.state.dataRetentionDays : entity.dataRetentionDays) ?? 0);

function evolveTombstone(current: Entity | null, position: Position, rules: EvolveRules): Evolved {
  const known: Entity = current ?? { orgId: null, version: 0, position: null };
  const isOlderTombstone = known.tombstonePosition && !isAfter(position, known.tombstonePosition);
  if (isOlderTombstone) return { entity: known, changed: false };
  const next = { ...known, tombstonePosition: position };
  // A conversation cannot come back after its deletion, so its tombstone deletes the later versions too.
  const isDeleted =
    rules.deletionIsFinal || !known.position || known.deletedAt !== undefined || isBeforeTombstone(next);
  return { entity: isDeleted ? toTombstone(next, rules) : next, changed: true };
}

/** Whether every record of the entity's version comes before its latest tombstone, which then deletes the entity. */
export const isBeforeTombstone = ({
  position,
  tombstonePosition,
}: Pick<Entity, 'position' | 'tombstonePosition'>): boolean =>
  Boolean(position && tombstonePosition && isAfter(tombstonePosition, position));
