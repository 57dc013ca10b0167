import type { Kind } from '../../../shared/documents/document.ts';
import { resources } from '../../../shared/documents/resources.ts';
import { projections } from '../projections/projections.ts';
import { incomingEdges } from './edges.ts';
import { toTombstone, type Entity } from './evolve.ts';
import { join, type Joined, type References, type Target } from './join.ts';
import type { Current, JoinedFields, StoredDocument, Write } from './store.ts';

export type WriteDeps = {
  now: () => Date;
  tombstoneDays: number;
  /** Set where changes do not come in the order of the log: positions then tell nothing of their fan-out. */
  outOfOrder?: boolean;
};

/** What changes have made of an entity, and the document that this is built on. */
export type PendingWrite = { id: string; current: Current | undefined; entity: Entity; isNewState: boolean };

/** `target` is what a living document has to be joined with; null for one that is deleted. */
export type TargetedWrite = PendingWrite & { target: Target | null };

/**
 * A refresh bumps the revision even where nothing changed. Otherwise a stale worker that read the old references
 * could still pass its revision guard, overwrite this document, and crash before its own recheck.
 */
export function writeOf(deps: WriteDeps, kind: Kind, item: TargetedWrite, references: References): Write {
  const { current, target } = item;
  const revision = (current?.revision ?? 0) + 1;
  const guard = current ? { revision: current.revision, orgId: current.orgId } : null;
  const joined = target && join(kind, target, references);
  if (!joined || joined.ownerDeleted)
    return { op: 'put', document: tombstoneOf(deps, kind, item, revision), guard };
  const fields = { ...joinedFields(deps, kind, item, joined), revision };
  if (!item.isNewState && guard) return { op: 'join', document: fields, guard };
  const { version, state } = item.entity;
  const sortKeys = resources[kind].sortKeys(state as never);
  return { op: 'put', document: { ...fields, version, state, ...sortKeys, ...begun(deps, kind) }, guard };
}

function joinedFields(
  { now }: WriteDeps,
  kind: Kind,
  { id, entity }: PendingWrite,
  { joined, refs, ownerMissing }: Joined,
): Omit<JoinedFields, 'revision'> {
  const { orgId, position, tombstonePosition } = entity;
  const isPending = projections[kind].isPending(joined as never);
  return {
    ...{ _id: id, orgId, position, joined, refs },
    ...(tombstonePosition && { tombstonePosition }),
    ...(isPending && { pending: true as const }),
    ...(ownerMissing && { orphanedAt: now() }),
  };
}

/** What stays of a deleted entity, or of one whose state was freed: no state of its own. */
function tombstoneOf(
  deps: WriteDeps,
  kind: Kind,
  { id, entity }: PendingWrite,
  revision: number,
): StoredDocument {
  const rules = { deletionIsFinal: false, now: deps.now(), tombstoneDays: deps.tombstoneDays };
  // Its owner's deletion takes it along. Without a state it is a tombstone already, or was freed: that deletes nothing.
  const { orgId, version, position, tombstonePosition, deletedAt, expiresAt } =
    entity.state === undefined ? entity : toTombstone(entity, rules);
  return {
    ...{ _id: id, orgId, version, revision, position },
    ...(tombstonePosition && { tombstonePosition }),
    ...(deletedAt && { deletedAt }),
    ...(expiresAt && { expiresAt }),
    ...(deletedAt && begun(deps, kind)),
  };
}

/** A fan-out that is marked as begun counts as unfinished until it has ended, whatever the positions say. */
const begun = ({ outOfOrder }: WriteDeps, kind: Kind): Pick<StoredDocument, 'fanOutCursor'> =>
  outOfOrder && incomingEdges(kind).length > 0 ? { fanOutCursor: { from: kind, edge: '', after: '' } } : {};
