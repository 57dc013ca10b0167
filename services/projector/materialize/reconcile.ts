import type { Kind } from '../../../shared/documents/document.ts';
import type { Change, Rejection } from '../events/change.ts';
import { portions } from '../portions.ts';
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
import { writeOf, type Draft, type Drafted, type WriteDeps } from './writes.ts';

export type ReconcileDeps = WriteDeps & {
  store: Store;
  cache: ReferenceCache;
  /**
   * Whether the record at a position of the kind's topic has been applied in full by anyone, its fan-out included:
   * the partition's position lies behind it.
   */
  isApplied: (kind: Kind, position: NonNullable<Current['at']>) => boolean;
  /** Told of each document that the store refuses to have refreshed. */
  onNotRefreshed: (kind: Kind, id: string, reason: string) => void;
};

/** An entity that changes have been applied to, as it now stands, and as it was before. */
export type Reconciled = {
  id: string;
  orgId: string | null;
  version: number;
  /** Its own state; absent where it is deleted. */
  own?: unknown;
  /** What its dependents have been shown in full; null where that is not known. */
  before: { own?: unknown } | null;
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
  let open = ids;
  for (let round = 0; open.length > 0; round += 1) {
    const read = round === 0 && isOptimistic ? nothingStored : await deps.store.readCurrent(kind, open);
    const state: Round = { changes, outcome, isFirst: round === 0, stale };
    const drafts = draft(deps, kind, open, read, state);
    const again = await settleRound(deps, kind, drafts, state);
    if (round === 0 && changes !== null) {
      const known = isOptimistic ? again.conflicted : read.documents.length;
      expected.set(kind, known * 10 < open.length);
    }
    open = [...read.rest, ...again.ids];
  }
  return outcome;
}

const nothingStored = { documents: [] as Current[], rest: [] as string[] };

/** What the changes make of each document that was read, or what a refresh has to look at. */
function draft(
  deps: ReconcileDeps,
  kind: Kind,
  ids: string[],
  { documents, rest }: { documents: Current[]; rest: string[] },
  { changes, outcome, stale }: Round,
): Draft[] {
  const { deletionIsFinal } = projections[kind];
  const rules: EvolveRules = { deletionIsFinal, now: deps.now(), tombstoneDays: deps.tombstoneDays };
  const stored = new Map(documents.map((document) => [document._id, document]));
  const later = new Set(rest);
  const seen = new Set(ids);
  outcome.rejections = outcome.rejections.filter(
    ({ change, rejection }) => !seen.has(change.id) || rejection.reason === 'refused_by_store',
  );
  return ids.flatMap((id): Draft[] => {
    if (later.has(id)) return [];
    const current = stored.get(id);
    if (!changes) return current?.own ? [{ id, current, entity: current, isNewState: false }] : [];
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
    return [{ id, current, entity, isNewState: entity.own !== undefined && entity.own !== current?.own }];
  });
}

/** Whether a stored state has reached every dependent: its records have been applied in full. */
const isSettled = ({ isApplied }: ReconcileDeps, kind: Kind, { at, cut, fanOutCursor }: Current): boolean =>
  !fanOutCursor && (at === null || isApplied(kind, at)) && (cut === undefined || isApplied(kind, cut));

/** One round over documents that were read; gives the ids that have to go round again, and how many lost. */
async function settleRound(
  deps: ReconcileDeps,
  kind: Kind,
  drafts: Draft[],
  round: Round,
): Promise<{ ids: string[]; conflicted: number }> {
  const again: string[] = [];
  let conflicted = 0;
  const drafted = drafts.map((item): Drafted => ({ ...item, target: targetOf(kind, item) }));
  for (const some of portions(drafted, referencesOf, referencesPerRoundMax)) {
    const portion = await settlePortion(deps, kind, some, round);
    again.push(...portion.ids);
    conflicted += portion.conflicted;
  }
  return { ids: again, conflicted };
}

/** The references that a draft has to be joined with, and itself. */
const referencesOf = ({ target }: Drafted): number =>
  target ? [...target.named.values()].reduce((sum, ids) => sum + ids.length, 1) : 1;

/** What a living document has to be joined with; null for one that is deleted. */
function targetOf(kind: Kind, { id, current, entity, isNewState }: Draft): Target | null {
  if (entity.own === undefined || entity.orgId === null || entity.deletedAt) return null;
  const named = isNewState ? namedByState(kind, entity.own) : namedByRefs(current?.refs);
  return { id, orgId: entity.orgId, named };
}

async function settlePortion(
  deps: ReconcileDeps,
  kind: Kind,
  drafts: Drafted[],
  { changes, outcome, isFirst, stale }: Round,
): Promise<{ ids: string[]; conflicted: number }> {
  const { store, cache } = deps;
  const targets = drafts.flatMap(({ target }) => target ?? []);
  // A refresh, or another round, follows a change that the cache may not know of.
  const isCached = isFirst && changes !== null;
  const readReferred = isCached ? cache.read(store) : store.readReferred;
  const { references, rest } = await readReferences(store, kind, targets, readReferred);
  const ready = drafts.filter(({ id }) => !rest.has(id));
  const writes = ready.map((item) => writeOf(deps, kind, item, references));
  const { conflicted, refused } = await store.write(kind, writes);
  const written: { item: Drafted; write: Write }[] = [];
  for (const [index, write] of writes.entries()) {
    const item = ready[index];
    const id = write.document._id;
    if (!item || conflicted.has(id)) continue;
    const reason = refused.get(id);
    if (reason === undefined) written.push({ item, write });
    else if (await refuse(deps, kind, item, reason, changes, outcome)) rest.add(id);
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
  return { ids: [...rest, ...conflicted, ...builtOnOld], conflicted: conflicted.size };
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
  { id, current, entity }: Draft,
  { op, document }: Write,
): Reconciled {
  const own = op === 'put' ? document.own : current?.own;
  const isKnown = current !== undefined && isSettled(deps, kind, current) && !deps.outOfOrder;
  return {
    ...{ id, orgId: document.orgId, version: entity.version },
    ...(own !== undefined && { own }),
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
  { id, current, entity, isNewState }: Draft,
  reason: string,
  changes: Map<string, Change[]> | null,
  outcome: Outcome,
): Promise<boolean> {
  const all = changes?.get(id) ?? [];
  const change = all.find((one) => isNewState && one.op === 'upsert' && one.own === entity.own);
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
