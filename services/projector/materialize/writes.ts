import { type Kind, resources } from '../../../shared/documents/resources.ts';
import { isCodeError } from '../../../shared/store/code-errors.ts';
import { newRevision } from '../../../shared/store/revision.ts';
import type { Change, Upsert } from '../events/change.ts';
import { fanOutStart } from './edges.ts';
import { type Entity, toTombstone } from './evolve.ts';
import { join, type Joined, type Joining, type References } from './join.ts';
import type { Current, Guard, JoinedFields, StoredDocument, Write } from './store.ts';

export type WriteDeps = {
  now: () => Date;
  tombstoneDays: number;
  /** Set if changes do not come in log order. Positions then show nothing about their fan-out: Invariant 8. */
  outOfOrder?: boolean;
  /** Returns the write to make in place of a planned one; null leaves the document as it is. */
  review?: (item: PlannedWrite<Kind>, write: Write) => Write | null;
};

/** An entity after its changes, and the stored document before them. */
export type PlannedWrite<K extends Kind> = {
  id: string;
  current: Current | undefined;
  /** The guard of the write, also of a document that cannot be read. */
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
  joining: Joining | null;
};

/** The writes of documents, and the documents for which the code throws. */
type Prepared<K extends Kind> = {
  prepared: { item: PlannedWrite<K>; write: Write }[];
  failed: { item: PlannedWrite<K>; error: unknown }[];
};

/**
 * Joins documents. The code may throw for one of them. Then only that document fails, if its own change can be
 * rejected, or if it is only refreshed. Otherwise this throws, and `isolate` halves the chunk.
 */
export function prepareWrites<K extends Kind>(
  deps: WriteDeps,
  kind: K,
  items: PlannedWrite<K>[],
  read: References,
): Prepared<K> {
  const outcome: Prepared<K> = { prepared: [], failed: [] };
  for (const item of items) {
    try {
      const planned = writeOf(deps, kind, item, read);
      const write = deps.review ? deps.review(item, planned) : planned;
      if (write) outcome.prepared.push({ item, write });
    } catch (error) {
      const isRefresh = item.entity === item.current;
      if (!isCodeError(error) || !(item.upsert || isRefresh)) throw error;
      outcome.failed.push({ item, error });
    }
  }
  return outcome;
}

/** A refresh draws a new revision even when nothing changed: Invariant 4 in docs/internals/joins.md. */
function writeOf<K extends Kind>(deps: WriteDeps, kind: K, item: PlannedWrite<K>, read: References): Write {
  const { current, guard, joining, entity, upsert } = item;
  const revision = newRevision();
  const joined = joining && join(kind, joining, read);
  // Invariant 10: a document whose owner is deleted is deleted too.
  if (!joined || joined.ownerDeleted)
    return { op: 'put', document: tombstoneOf(deps, kind, item, revision), guard };
  const fields = joinedFields(deps, item, joined, revision);
  if (!upsert && current) return { op: 'join', document: fields, guard: current.revision };
  const document: StoredDocument = Object.assign(fields, { orgId: entity.orgId, version: entity.version });
  if (upsert) {
    document.state = upsert.state;
    Object.assign(document, resources[kind].sortKeys(upsert.state));
  }
  return { op: 'put', document: Object.assign(document, fanOutStarted(deps, kind, item)), guard };
}

/** The fields that a join sets in the document of a living entity. */
export function joinedFields(
  { now }: Pick<WriteDeps, 'now'>,
  item: Pick<PlannedWrite<Kind>, 'id' | 'current' | 'entity'>,
  joinedDocument: Joined,
  revision: number,
): JoinedFields {
  const { joined, isPending, refs, ownerMissing } = joinedDocument;
  const { position, tombstonePosition } = item.entity;
  const fields: JoinedFields = { _id: item.id, revision, position, joined, refs };
  if (tombstonePosition) fields.tombstonePosition = tombstonePosition;
  if (isPending) fields.pending = true;
  // An orphan that is written again has waited for its owner since the first write without the owner.
  if (ownerMissing) fields.orphanedAt = item.current?.orphanedAt ?? now();
  return fields;
}

/** The document without a state, of a deleted entity or of a purged one. */
function tombstoneOf(
  deps: WriteDeps,
  kind: Kind,
  item: PlannedWrite<Kind>,
  revision: number,
): StoredDocument {
  const { id, current, entity } = item;
  const rules = { deletionIsFinal: false, now: deps.now(), tombstoneDays: deps.tombstoneDays };
  // An entity with a state comes here because its owner is deleted, so it is deleted, too. Without a state it is
  // already deleted or purged, and stays so.
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
  else if (deletedAt) Object.assign(tombstone, fanOutStarted(deps, kind, item));
  return tombstone;
}

/**
 * Returns a cursor before the first dependent, which marks the fan-out as incomplete until its end: Invariant 8. No
 * cursor if the positions of the document already show that.
 */
const fanOutStarted = (
  { outOfOrder }: WriteDeps,
  kind: Kind,
  { raisesPosition }: PlannedWrite<Kind>,
): Pick<StoredDocument, 'fanOutCursor'> | null => {
  const fanOutCursor = fanOutStart(kind);
  return (outOfOrder || !raisesPosition) && fanOutCursor ? { fanOutCursor } : null;
};
