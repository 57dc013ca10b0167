import type { Kind } from '../../../shared/documents/document.ts';
import type { Change, Rejection } from '../events/change.ts';
import { splitBySize } from '../../../shared/runtime/split-by-size.ts';
import { projections } from '../projections/projections.ts';
import { edgesOf } from './edges.ts';
import { evolve, type Entity, type EvolveRules } from './evolve.ts';
import {
  namedByRefs,
  namedByState,
  readReferences,
  recheckReferences,
  type References,
  type Target,
} from './join.ts';
import type { ReferenceCache } from './reference-cache.ts';
import type { Current, Store, Write } from './store.ts';
import { writeOf, type PendingWrite, type TargetedWrite, type WriteDeps } from './writes.ts';

export type ReconcileDeps = WriteDeps & {
  store: Store;
  cache: ReferenceCache;
  /**
   * Whether the record at a position of the kind's topic has been applied in full by anyone, its fan-out included:
   * the partition's position lies behind it.
   */
  isApplied: (kind: Kind, position: NonNullable<Current['position']>) => boolean;
  /** Told of each document that the store refuses to have refreshed. */
  onNotRefreshed: (kind: Kind, id: string, reason: string) => void;
};

/** An entity that changes have been applied to, as it now stands, and as it was before. */
export type Reconciled = {
  id: string;
  orgId: string | null;
  version: number;
  /** Its own state; absent where it is deleted. */
  state?: unknown;
  /** What its dependents have been shown in full; null where that is not known. */
  before: { state?: unknown } | null;
  resumeAt: Current['fanOutCursor'];
};

export type Outcome = {
  entities: Map<string, Reconciled>;
  rejections: { change: Change; rejection: Rejection }[];
};

/** What a round works on besides its documents. */
type Round = {
  changes: Map<string, Change[]> | null;
  outcome: Outcome;
  isFirst: boolean;
  /** What this call has written from references that had changed: to be joined again, whatever others applied. */
  stale: Set<string>;
};

/** References of the documents of one round; bounds its memory, each being a few kilobytes at most. */
const referencesPerRoundMax = 10_000;

/** Kinds of which documents were lately not there yet: tried as new ones first, without a read. */
const expectsNew = new WeakMap<Store, Map<Kind, boolean>>();

/**
 * Brings documents of one kind up to date with their changes, or, without changes, with what they refer to (a
 * refresh). Reads, joins, writes guarded by the revision, and rechecks the references of what it wrote: a document
 * whose references changed meanwhile, or whose write lost its race, goes round again.
 */
export async function reconcile(
  deps: ReconcileDeps,
  kind: Kind,
  ids: string[],
  changes: Map<string, Change[]> | null,
): Promise<Outcome> {
  const outcome: Outcome = { entities: new Map(), rejections: [] };
  const stale = new Set<string>();
  const expected = expectsNew.get(deps.store) ?? new Map<Kind, boolean>();
  expectsNew.set(deps.store, expected);
  const isOptimistic = changes !== null && expected.get(kind) === true;
  let pending = ids;
  for (let round = 0; pending.length > 0; round += 1) {
    const read = round === 0 && isOptimistic ? nothingStored : await deps.store.readCurrent(kind, pending);
    const current: Round = { changes, outcome, isFirst: round === 0, stale };
    const pendingWrites = pendingWritesOf(deps, kind, pending, read, current);
    const again = await reconcileRound(deps, kind, pendingWrites, current);
    if (round === 0 && changes !== null) {
      const known = isOptimistic ? again.conflicted : read.documents.length;
      expected.set(kind, known * 10 < pending.length);
    }
    pending = [...read.remaining, ...again.ids];
  }
  return outcome;
}

const nothingStored = { documents: [] as Current[], remaining: [] as string[] };

/** What the changes make of each document that was read, or what a refresh has to look at. */
function pendingWritesOf(
  deps: ReconcileDeps,
  kind: Kind,
  ids: string[],
  { documents, remaining }: { documents: Current[]; remaining: string[] },
  { changes, outcome, stale }: Round,
): PendingWrite[] {
  const { deletionIsFinal } = projections[kind];
  const rules: EvolveRules = { deletionIsFinal, now: deps.now(), tombstoneDays: deps.tombstoneDays };
  const stored = new Map(documents.map((document) => [document._id, document]));
  const later = new Set(remaining);
  const seen = new Set(ids);
  outcome.rejections = outcome.rejections.filter(
    ({ change, rejection }) => !seen.has(change.id) || rejection.reason === 'refused_by_store',
  );
  return ids.flatMap((id): PendingWrite[] => {
    if (later.has(id)) return [];
    const current = stored.get(id);
    if (!changes) return current?.state ? [{ id, current, entity: current, isNewState: false }] : [];
    let entity: Entity | null = current ?? null;
    let changed = false;
    for (const change of changes.get(id) ?? []) {
      const next = evolve(entity, change, rules);
      entity = next.entity;
      changed ||= next.changed;
      if (next.rejected) outcome.rejections.push({ change, rejection: next.rejected });
    }
    const isDone = !changed && !stale.has(id) && current !== undefined && isSettled(deps, kind, current);
    if (!entity || isDone) return [];
    return [
      { id, current, entity, isNewState: entity.state !== undefined && entity.state !== current?.state },
    ];
  });
}

/** Whether a stored state has reached every dependent: its records have been applied in full. */
const isSettled = (
  { isApplied }: ReconcileDeps,
  kind: Kind,
  { position, tombstonePosition, fanOutCursor }: Current,
): boolean =>
  !fanOutCursor &&
  (position === null || isApplied(kind, position)) &&
  (tombstonePosition === undefined || isApplied(kind, tombstonePosition));

/** One round over documents that were read; gives the ids that have to go round again, and how many lost. */
async function reconcileRound(
  deps: ReconcileDeps,
  kind: Kind,
  pendingWrites: PendingWrite[],
  round: Round,
): Promise<{ ids: string[]; conflicted: number }> {
  const again: string[] = [];
  let conflicted = 0;
  const targeted = pendingWrites.map((item): TargetedWrite => ({ ...item, target: targetOf(kind, item) }));
  for (const some of splitBySize(targeted, referencesOf, referencesPerRoundMax)) {
    const portion = await reconcileBatch(deps, kind, some, round);
    again.push(...portion.ids);
    conflicted += portion.conflicted;
  }
  return { ids: again, conflicted };
}

/** The references that a draft has to be joined with, and itself. */
const referencesOf = ({ target }: TargetedWrite): number =>
  target ? [...target.named.values()].reduce((sum, ids) => sum + ids.length, 1) : 1;

/** What a living document has to be joined with; null for one that is deleted. */
function targetOf(kind: Kind, { id, current, entity, isNewState }: PendingWrite): Target | null {
  if (entity.state === undefined || entity.orgId === null || entity.deletedAt) return null;
  const named = isNewState ? namedByState(kind, entity.state) : namedByRefs(current?.refs);
  return { id, orgId: entity.orgId, named };
}

async function reconcileBatch(
  deps: ReconcileDeps,
  kind: Kind,
  pendingWrites: TargetedWrite[],
  { changes, outcome, isFirst, stale }: Round,
): Promise<{ ids: string[]; conflicted: number }> {
  const { store, cache } = deps;
  const targets = pendingWrites.flatMap(({ target }) => target ?? []);
  // A refresh, or another round, follows a change that the cache may not know of.
  const isCached = isFirst && changes !== null;
  const readReferenced = isCached ? cache.read(store) : store.readReferenced;
  const { references, remaining } = await readReferences(store, kind, targets, readReferenced);
  const ready = pendingWrites.filter(({ id }) => !remaining.has(id));
  const writes = ready.map((item) => writeOf(deps, kind, item, references));
  const { conflicted, refused } = await store.write(kind, writes);
  const written: { item: TargetedWrite; write: Write }[] = [];
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
  const builtOnOld = await recheck(deps, kind, toRecheck, references);
  for (const id of builtOnOld) stale.add(id);
  return { ids: [...remaining, ...conflicted, ...builtOnOld], conflicted: conflicted.size };
}

const isSame = (before: string[] | undefined, after: string[]): boolean =>
  before?.length === after.length && after.every((ref, index) => ref === before[index]);

/**
 * Reads the references of what was just written once more. A document that is new, refers to something new, or was
 * built from remembered entities may have been missed by the fan-out of a change that came before the write. One
 * whose references were there before, and were read for it, cannot: that fan-out finds it, and writes it.
 */
async function recheck(
  { store, cache }: ReconcileDeps,
  kind: Kind,
  targets: Target[],
  references: References,
): Promise<string[]> {
  if (targets.length === 0 || edgesOf(kind).length === 0) return [];
  const { stale, changed } = await recheckReferences(store, kind, targets, references);
  for (const [of, id] of changed) cache.forget(of, id);
  return stale;
}

function reconciledOf(
  deps: ReconcileDeps,
  kind: Kind,
  { id, current, entity }: PendingWrite,
  { op, document }: Write,
): Reconciled {
  const state = op === 'put' ? document.state : current?.state;
  const isKnown = current !== undefined && isSettled(deps, kind, current) && !deps.outOfOrder;
  return {
    ...{ id, orgId: document.orgId, version: entity.version },
    ...(state !== undefined && { state }),
    before: isKnown ? current : null,
    resumeAt: op === 'join' ? current?.fanOutCursor : undefined,
  };
}

/**
 * The store refuses the document. A record that gave it a new state is set aside, and true is returned: the others that
 * came with it count without it. Else what was stored before stays, marked as not refreshed.
 */
async function refuse(
  { store, now, onNotRefreshed }: ReconcileDeps,
  kind: Kind,
  { id, current, entity, isNewState }: PendingWrite,
  reason: string,
  changes: Map<string, Change[]> | null,
  outcome: Outcome,
): Promise<boolean> {
  const all = changes?.get(id) ?? [];
  const change = all.find((one) => isNewState && one.op === 'upsert' && one.state === entity.state);
  if (change) {
    outcome.rejections.push({ change, rejection: { reason: 'refused_by_store', detail: reason } });
    changes?.set(
      id,
      all.filter((one) => one !== change),
    );
    return true;
  }
  if (current) await store.markNotRefreshed(kind, { id, revision: current.revision }, now());
  onNotRefreshed(kind, id, reason);
  return false;
}
