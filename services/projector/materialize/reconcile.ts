import type { Kind } from '../../../shared/documents/document.ts';
import type { Change, Rejection, Upsert } from '../events/change.ts';
import { splitBySize } from '../../../shared/runtime/split-by-size.ts';
import { projections } from '../projections/projections.ts';
import { edgesOf } from './edges.ts';
import { evolve, type Entity, type EvolveRules } from './evolve.ts';
import {
  idsInRefs,
  idsInState,
  readReferences,
  recheckReferences,
  type References,
  type Target,
} from './join.ts';
import type { ReferenceCache } from './reference-cache.ts';
import type { Current, Store, StoredState, Write } from './store.ts';
import { writeOf, type PendingWrite, type WriteDeps } from './writes.ts';

export type ReconcileDeps = WriteDeps & {
  store: Store;
  cache: ReferenceCache;
  /**
   * Whether any worker has applied the record at a position of the kind's topic completely, its fan-out included.
   * The partition's position is then after the record.
   */
  isApplied: (kind: Kind, position: NonNullable<Current['position']>) => boolean;
  /** Called for each document that the store refuses to have refreshed. */
  onNotRefreshed: (kind: Kind, id: string, reason: string) => void;
};

/** An entity after its changes, and before them. */
export type Reconciled = {
  id: string;
  orgId: string | null;
  version: number;
  /** Absent where the entity is deleted. */
  state?: StoredState;
  /** The state that has reached every dependent; null where that is not known. */
  before: { state?: StoredState } | null;
  resumeAt: Current['fanOutCursor'];
};

export type Outcome<K extends Kind = Kind> = {
  entities: Map<string, Reconciled>;
  rejections: { change: Change<K>; rejection: Rejection }[];
};

type Round<K extends Kind> = {
  changes: Map<string, Change<K>[]> | null;
  outcome: Outcome<K>;
  isFirst: boolean;
  /** Documents that this call wrote from references that have changed since. It joins them again: Invariant 3. */
  outdated: Set<string>;
};

/** Documents to be tried in another round, and how many of them lost their write to another worker. */
type Unfinished = { ids: string[]; conflicted: number };

/** Limits the memory of a round: a reference takes a few kilobytes at most. */
const referencesPerRoundMax = 10_000;

/** Kinds whose last batch was mostly new. Their next batch is inserted without a read. */
const expectsNew = new WeakMap<Store, Map<Kind, boolean>>();

/**
 * Brings documents of one kind up to date with their changes or, without changes, with their references (a refresh).
 * Reads, joins, writes under the revision guard, then rechecks the references. A document whose references changed
 * meanwhile, or whose write lost, goes into another round. The invariants are in docs/internals/consistency.md.
 */
export async function reconcile<K extends Kind>(
  deps: ReconcileDeps,
  kind: K,
  ids: string[],
  changes: Map<string, Change<K>[]> | null,
): Promise<Outcome<K>> {
  const outcome: Outcome<K> = { entities: new Map(), rejections: [] };
  const outdated = new Set<string>();
  const expected = expectsNew.get(deps.store) ?? new Map<Kind, boolean>();
  expectsNew.set(deps.store, expected);
  const isOptimistic = changes !== null && expected.get(kind) === true;
  let pending = ids;
  for (let number = 0; pending.length > 0; number += 1) {
    const read = number === 0 && isOptimistic ? nothingStored : await deps.store.readCurrent(kind, pending);
    const round: Round<K> = { changes, outcome, isFirst: number === 0, outdated };
    const unfinished = await writeAll(deps, kind, planWrites(deps, kind, pending, read, round), round);
    if (number === 0 && changes !== null) {
      const known = isOptimistic ? unfinished.conflicted : read.documents.length;
      expected.set(kind, known * 10 < pending.length);
    }
    pending = [...read.remaining, ...unfinished.ids];
  }
  return outcome;
}

const nothingStored = { documents: [] as Current[], remaining: [] as string[] };

/** Applies the changes to each document that was read. A refresh takes the living documents as they are. */
function planWrites<K extends Kind>(
  deps: ReconcileDeps,
  kind: K,
  ids: string[],
  { documents, remaining }: { documents: Current[]; remaining: string[] },
  { changes, outcome, outdated }: Round<K>,
): PendingWrite<K>[] {
  const { deletionIsFinal } = projections[kind];
  const rules: EvolveRules = { deletionIsFinal, now: deps.now(), tombstoneDays: deps.tombstoneDays };
  const stored = new Map(documents.map((document) => [document._id, document]));
  const notRead = new Set(remaining);
  const planned = new Set(ids);
  // Another round judges the changes anew. A record that the store refused is no longer among them.
  outcome.rejections = outcome.rejections.filter(
    ({ change, rejection }) => !planned.has(change.id) || rejection.reason === 'refused_by_store',
  );
  return ids.flatMap((id): PendingWrite<K>[] => {
    if (notRead.has(id)) return [];
    const current = stored.get(id);
    if (!changes) return current?.state ? [pendingWrite(kind, id, current, current, [])] : [];
    const changesOfId = changes.get(id) ?? [];
    let entity: Entity | null = current ?? null;
    let changed = false;
    for (const change of changesOfId) {
      const next = evolve(entity, change, rules);
      entity = next.entity;
      changed ||= next.changed;
      if (next.rejected) outcome.rejections.push({ change, rejection: next.rejected });
    }
    const isDone =
      !changed && !outdated.has(id) && current !== undefined && isPropagated(deps, kind, current);
    return !entity || isDone ? [] : [pendingWrite(kind, id, current, entity, changesOfId)];
  });
}

function pendingWrite<K extends Kind>(
  kind: K,
  id: string,
  current: Current | undefined,
  entity: Entity,
  changes: Change<K>[],
): PendingWrite<K> {
  const upsert = changes.find(
    (change): change is Upsert<K> => change.op === 'upsert' && change.state === entity.state,
  );
  const { orgId, state, deletedAt } = entity;
  if (state === undefined || orgId === null || deletedAt)
    return { id, current, entity, upsert, target: null };
  const ids = upsert ? idsInState(kind, upsert.state) : idsInRefs(current?.refs);
  return { id, current, entity, upsert, target: { id, orgId, ids } };
}

/** Whether a stored state has reached every dependent: Invariant 7. */
const isPropagated = (
  { isApplied }: ReconcileDeps,
  kind: Kind,
  { position, tombstonePosition, fanOutCursor }: Current,
): boolean =>
  !fanOutCursor &&
  (position === null || isApplied(kind, position)) &&
  (tombstonePosition === undefined || isApplied(kind, tombstonePosition));

async function writeAll<K extends Kind>(
  deps: ReconcileDeps,
  kind: K,
  pendingWrites: PendingWrite<K>[],
  round: Round<K>,
): Promise<Unfinished> {
  const unfinished: Unfinished = { ids: [], conflicted: 0 };
  for (const batch of splitBySize(pendingWrites, referencesOf, referencesPerRoundMax)) {
    const { ids, conflicted } = await writeBatch(deps, kind, batch, round);
    unfinished.ids.push(...ids);
    unfinished.conflicted += conflicted;
  }
  return unfinished;
}

/** How many references a document is joined with, and one for itself. */
const referencesOf = ({ target }: { target: Target | null }): number =>
  target ? [...target.ids.values()].reduce((sum, ids) => sum + ids.length, 1) : 1;

async function writeBatch<K extends Kind>(
  deps: ReconcileDeps,
  kind: K,
  pendingWrites: PendingWrite<K>[],
  { changes, outcome, isFirst, outdated }: Round<K>,
): Promise<Unfinished> {
  const { store, cache } = deps;
  const targets = pendingWrites.flatMap(({ target }) => target ?? []);
  // Invariant 9: a refresh and a later round follow a change that the cache may not have.
  const isCached = isFirst && changes !== null;
  const readReferenced = isCached ? cache.read(store) : store.readReferenced;
  const { references, remaining } = await readReferences(store, kind, targets, readReferenced);
  const ready = pendingWrites.filter(({ id }) => !remaining.has(id));
  const writes = ready.map((item) => writeOf(deps, kind, item, references));
  const { conflicted, refused } = await store.write(kind, writes);
  const written: { item: PendingWrite<K>; write: Write }[] = [];
  for (const [index, write] of writes.entries()) {
    const item = ready[index];
    const id = write.document._id;
    if (!item || conflicted.has(id)) continue;
    const reason = refused.get(id);
    if (reason === undefined) written.push({ item, write });
    else if (await refuse(deps, kind, item, reason, changes, outcome)) remaining.add(id);
  }
  for (const { item, write } of written) {
    if (write.op === 'put') cache.put(kind, write.document);
    else cache.forget(kind, item.id);
    if (changes) outcome.entities.set(item.id, reconciledOf(deps, kind, item, write));
  }
  const toRecheck = written.flatMap(({ item: { target, current }, write: { document } }) =>
    target && document.refs && (isCached || !isSame(current?.refs, document.refs)) ? [target] : [],
  );
  const joinedFromOld = await recheck(deps, kind, toRecheck, references);
  for (const id of joinedFromOld) outdated.add(id);
  return { ids: [...remaining, ...conflicted, ...joinedFromOld], conflicted: conflicted.size };
}

const isSame = (before: string[] | undefined, after: string[]): boolean =>
  before?.length === after.length && after.every((ref, index) => ref === before[index]);

/** Returns the ids of documents that were joined from references that have changed since: Invariant 3. */
async function recheck(
  { store, cache }: ReconcileDeps,
  kind: Kind,
  targets: Target[],
  references: References,
): Promise<string[]> {
  if (targets.length === 0 || edgesOf(kind).length === 0) return [];
  const { outdated, changed } = await recheckReferences(store, kind, targets, references);
  for (const [changedKind, id] of changed) cache.forget(changedKind, id);
  return outdated;
}

function reconciledOf<K extends Kind>(
  deps: ReconcileDeps,
  kind: Kind,
  { id, current, entity }: PendingWrite<K>,
  { op, document }: Write,
): Reconciled {
  const state = op === 'put' ? document.state : current?.state;
  const isKnown = current !== undefined && isPropagated(deps, kind, current) && !deps.outOfOrder;
  return {
    ...{ id, orgId: document.orgId, version: entity.version },
    ...(state !== undefined && { state }),
    before: isKnown ? current : null,
    // Invariant 8: a new state starts its fan-out from the beginning.
    resumeAt: op === 'join' ? current?.fanOutCursor : undefined,
  };
}

/**
 * Handles a document that the store refuses. If a record of this batch gave it a new state, that record is
 * dead-lettered, and true is returned: the other records of the entity are tried without it. Otherwise the stored
 * document stays, marked as not refreshed.
 */
async function refuse<K extends Kind>(
  { store, now, onNotRefreshed }: ReconcileDeps,
  kind: Kind,
  { id, current, upsert }: PendingWrite<K>,
  reason: string,
  changes: Map<string, Change<K>[]> | null,
  outcome: Outcome<K>,
): Promise<boolean> {
  if (upsert) {
    outcome.rejections.push({ change: upsert, rejection: { reason: 'refused_by_store', detail: reason } });
    const others = changes?.get(id)?.filter((change) => change !== upsert);
    changes?.set(id, others ?? []);
    return true;
  }
  if (current) await store.markNotRefreshed(kind, { id, revision: current.revision }, now());
  onNotRefreshed(kind, id, reason);
  return false;
}
