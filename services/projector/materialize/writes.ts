import { type Kind, resources } from '../../../shared/documents/resources.ts';
import { isCodeError } from '../../../shared/store/code-errors.ts';
import { newRevision } from '../../../shared/store/revision.ts';
import type { Change, Upsert } from '../events/change.ts';
import { fanOutStart } from './edges.ts';
import { type Entity, toTombstone } from './evolve.ts';
import { join, type Joined, type JoinInput, type References } from './join.ts';
import type { CurrentDocument, Guard, JoinedFields, StoredDocument, Write } from './store.ts';

export type WriteDeps = {
  now: () => Date;
  tombstoneDays: number;
  /** Set if changes do not come in log order. Positions then do not show whether their fan-out is done: Invariant 8. */
  outOfOrder?: boolean;
  /** Returns the write to make in place of a planned one; null leaves the document as it is. */
  review?: (plannedWrite: PlannedWrite<Kind>, write: Write) => Write | null;
};

/** An entity after its changes, and the stored document before them. */
export type PlannedWrite<K extends Kind> = {
  id: string;
  current: CurrentDocument | undefined;
  /** The guard of the write. A document that cannot be read has one as well. */
  guard: Guard;
  entity: Entity;
  /** The change that gave the entity a new state; absent if the stored state stays. */
  upsert: Upsert<K> | undefined;
  /** The change that becomes a dead letter if the store refuses the document; absent for a refresh. */
  cause: Change<K> | undefined;
  /**
   * Whether the last change raised a position of the entity. Its fan-out is then complete once that record is applied.
   */
  raisesPosition: boolean;
  /** How to join a living document; null for a deleted one. */
  joinInput: JoinInput | null;
};

/** The writes of documents, and the documents at which the projector throws. */
type PreparedWrites<K extends Kind> = {
  prepared: { plannedWrite: PlannedWrite<K>; write: Write }[];
  failed: { plannedWrite: PlannedWrite<K>; error: unknown }[];
};

/**
 * Joins documents. If a bug throws at one of them, only that document fails, provided that its change can be rejected
 * or that it has no change. Otherwise this throws, and `isolate` halves the chunk.
 */
export function prepareWrites<K extends Kind>(
  deps: WriteDeps,
  kind: K,
  planned: PlannedWrite<K>[],
  references: References,
): PreparedWrites<K> {
  const outcome: PreparedWrites<K> = { prepared: [], failed: [] };
  for (const plannedWrite of planned) {
    try {
      const write = writeOf(deps, kind, plannedWrite, references);
      const reviewed = deps.review ? deps.review(plannedWrite, write) : write;
      if (reviewed) outcome.prepared.push({ plannedWrite, write: reviewed });
    } catch (error) {
      const isRefresh = plannedWrite.entity === plannedWrite.current;
      const mayFailAlone = isRefresh || plannedWrite.upsert !== undefined;
      if (!isCodeError(error) || !mayFailAlone) throw error;
      outcome.failed.push({ plannedWrite, error });
    }
  }
  return outcome;
}

/** A refresh draws a new revision even when nothing changed: Invariant 4 in docs/internals/joins.md. */
function writeOf<K extends Kind>(
  deps: WriteDeps,
  kind: K,
  plannedWrite: PlannedWrite<K>,
  references: References,
): Write {
  const { current, guard, joinInput, entity, upsert } = plannedWrite;
  const revision = newRevision();
  const joined = joinInput && join(kind, joinInput, references);
  // Invariant 10: a document whose owner is deleted is deleted too.
  if (!joined || joined.ownerDeleted)
    return { op: 'put', document: tombstoneOf(deps, kind, plannedWrite, revision), guard };
  const fields = joinedFields(deps, plannedWrite, joined, revision);
  if (!upsert && current) return { op: 'join', document: fields, guard: current.revision };
  const document: StoredDocument = Object.assign(fields, { orgId: entity.orgId, version: entity.version });
  if (upsert) {
    document.state = upsert.state;
    Object.assign(document, resources[kind].sortKeys(upsert.state));
  }
  return { op: 'put', document: Object.assign(document, newFanOutCursor(deps, kind, plannedWrite)), guard };
}

/** The fields that a join sets in the document of a living entity. */
export function joinedFields(
  { now }: Pick<WriteDeps, 'now'>,
  plannedWrite: Pick<PlannedWrite<Kind>, 'id' | 'current' | 'entity'>,
  joinedDocument: Joined,
  revision: number,
): JoinedFields {
  const { joined, isPending, refs, ownerMissing } = joinedDocument;
  const { position, tombstonePosition } = plannedWrite.entity;
  const fields: JoinedFields = { _id: plannedWrite.id, revision, position, joined, refs };
  if (tombstonePosition) fields.tombstonePosition = tombstonePosition;
  if (isPending) fields.pending = true;
  // An orphan that is written again keeps the time of its first write without the owner.
  if (ownerMissing) fields.orphanedAt = plannedWrite.current?.orphanedAt ?? now();
  return fields;
}

/** Returns the document of a deleted or purged entity, which has no state. */
function tombstoneOf(
  deps: WriteDeps,
  kind: Kind,
  plannedWrite: PlannedWrite<Kind>,
  revision: number,
): StoredDocument {
  const { id, current, entity } = plannedWrite;
  const rules = { deletionIsFinal: false, now: deps.now(), tombstoneDays: deps.tombstoneDays };
  // An entity that still has a state is deleted because its owner is. Any other entity is already deleted or purged.
  const stateless = entity.state === undefined ? entity : toTombstone(entity, rules);
  const { orgId, version, position, tombstonePosition, deletedByEvent } = stateless;
  const { deletedAt, expiresAt, dataRetentionDays } = stateless;
  const tombstone: StoredDocument = { _id: id, orgId, version, revision, position };
  if (tombstonePosition) tombstone.tombstonePosition = tombstonePosition;
  if (deletedByEvent) tombstone.deletedByEvent = true;
  if (deletedAt) tombstone.deletedAt = deletedAt;
  if (expiresAt) tombstone.expiresAt = expiresAt;
  if (dataRetentionDays) tombstone.dataRetentionDays = dataRetentionDays;
  // Invariant 8: to dependents, all deletions of an entity are one state.
  const unfinishedCursor = current?.deletedAt && current.orgId === orgId && current.fanOutCursor;
  if (unfinishedCursor) tombstone.fanOutCursor = unfinishedCursor;
  else if (deletedAt) Object.assign(tombstone, newFanOutCursor(deps, kind, plannedWrite));
  return tombstone;
}

/**
 * Returns the field with a cursor before the first dependent, which marks the fan-out as incomplete: Invariant 8.
 * Returns null if the positions of the document already show that.
 */
const newFanOutCursor = (
  { outOfOrder }: WriteDeps,
  kind: Kind,
  { raisesPosition }: PlannedWrite<Kind>,
): Pick<StoredDocument, 'fanOutCursor'> | null => {
  const fanOutCursor = fanOutStart(kind);
  return (outOfOrder || !raisesPosition) && fanOutCursor ? { fanOutCursor } : null;
};
