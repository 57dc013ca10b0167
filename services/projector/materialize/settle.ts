import { isDeepStrictEqual } from 'node:util';
import type { Kind } from '../../../shared/documents/document.ts';
import { resources } from '../../../shared/documents/resources.ts';
import type { Change, Lapse, Rejection } from '../events/change.ts';
import { projections } from '../projections/projections.ts';
import { bury, evolve, type Entity, type EvolveRules } from './evolve.ts';
import { faces, stillShown } from './faces.ts';
import { resolve, type Joined, type Target } from './resolve.ts';
import type { Store, StoredDocument, Write } from './store.ts';

export type SettleOptions = { store: Store; now: () => Date; tombstoneDays: number };

/** What came of the changes: their documents as they now stand, and the changes that the rules refused. */
export type Settled = {
  documents: Map<string, StoredDocument>;
  rejections: { change: Change | Lapse; rejection: Rejection }[];
};

type Draft = { id: string; current: StoredDocument | undefined; entity: Entity; changed: boolean };

/**
 * Brings documents of one kind up to date with their changes (none: with what they refer to). Reads, joins,
 * writes guarded by the revision, and looks once more at what was newly written: a document whose references
 * moved meanwhile, or whose write lost the race, goes round again.
 */
export async function settle(
  options: SettleOptions,
  kind: Kind,
  ids: string[],
  changes: Map<string, (Change | Lapse)[]> = new Map(),
): Promise<Settled> {
  const settled: Settled = { documents: new Map(), rejections: [] };
  let open = ids;
  while (open.length > 0) {
    const rejections: Settled['rejections'] = [];
    const { drafts, rest } = await draft(options, kind, open, changes, rejections);
    const joins = await joinAll(options.store, kind, drafts);
    const writes = drafts
      .map((item) => toWrite(options, kind, item, joins.get(item.id), !changes.has(item.id)))
      .filter((write) => write !== null);
    const lost = await options.store.write(kind, writes);
    const written = writes.filter(({ document }) => !lost.has(document._id));
    const standing = [
      ...drafts.flatMap(({ current }) => current ?? []),
      ...written.map((one) => one.document),
    ];
    // Of a fan-out's documents nothing more is asked, and they may be large.
    for (const document of standing)
      if (changes.has(document._id)) settled.documents.set(document._id, document);
    // A change is refused by what is stored, which only gains: the refusal of the last round stands.
    settled.rejections = [
      ...settled.rejections.filter(({ change }) => !open.includes(change.id)),
      ...rejections,
    ];
    open = [...rest, ...lost, ...(await lastLook(options.store, kind, written, drafts))];
  }
  return settled;
}

async function draft(
  { store, now, tombstoneDays }: SettleOptions,
  kind: Kind,
  ids: string[],
  changes: Map<string, (Change | Lapse)[]>,
  rejections: Settled['rejections'],
): Promise<{ drafts: Draft[]; rest: string[] }> {
  const rules: EvolveRules = {
    deletionIsFinal: projections[kind].deletionIsFinal,
    now: now(),
    tombstoneDays,
  };
  const { documents, rest } = await store.readSome(kind, ids);
  const stored = new Map(documents.map((document) => [document._id, document]));
  const later = new Set(rest);
  const drafts: Draft[] = [];
  for (const id of ids) {
    if (later.has(id)) continue;
    const current = stored.get(id);
    let entity: Entity | null = current ?? null;
    let changed = false;
    for (const change of changes.get(id) ?? []) {
      const next = evolve(entity, change, rules);
      entity = next.entity;
      changed ||= next.changed;
      if (next.rejected) rejections.push({ change, rejection: next.rejected });
    }
    if (entity) drafts.push({ id, current, entity, changed });
  }
  return { drafts, rest };
}

const isLiving = ({ entity }: Draft) =>
  entity.own !== undefined && entity.orgId !== null && !entity.deletedAt;

const joinAll = async (store: Store, kind: Kind, drafts: Draft[]): Promise<Map<string, Joined>> => {
  const targets = drafts
    .filter(isLiving)
    .map(({ id, entity }): Target => ({ id, orgId: entity.orgId ?? '', own: entity.own }));
  return targets.length > 0 ? resolve(store, kind, targets) : new Map<string, Joined>();
};

/**
 * The write that a draft needs; null where the stored document already says all of it. One that is visited for
 * what it refers to is fenced even then: a write that was built on an older state of that may be under way, by
 * a worker which does not live to look again, and must not come after the visit that would have mended it.
 */
function toWrite(
  options: SettleOptions,
  kind: Kind,
  item: Draft,
  join: Joined | undefined,
  isVisit: boolean,
): Write | null {
  const { id, current, changed } = item;
  const revision = (current?.revision ?? 0) + 1;
  const guard = current ? { revision: current.revision, orgId: current.orgId } : null;
  const rules = { deletionIsFinal: false, now: options.now(), tombstoneDays: options.tombstoneDays };
  const entity = join?.ownerDeleted ? bury(item.entity, rules) : item.entity;
  if (!join || join.ownerDeleted) {
    if (!changed && entity === item.entity) return null;
    return { op: 'put', document: buried(id, revision, entity, current), guard };
  }
  const { joined, refs } = join;
  const derived = deriveFlags(kind, entity.own, joined);
  if (current && guard && entity.own === current.own) {
    // The own state stays as stored, so it is not written again: what was read lacks its bulky field.
    const same = isDeepStrictEqual(current.joined, joined) && isDeepStrictEqual(current.refs, refs);
    if (!changed && same) return isVisit ? { op: 'fence', document: { ...current, revision }, guard } : null;
    const { pending: _pending, keptUntil: _keptUntil, ...rest } = current;
    const { at, cut } = entity;
    const document = { ...rest, at, ...(cut && { cut }), joined, refs, ...derived, revision };
    return { op: 'join', document, guard };
  }
  const { orgId, version, at, cut, own } = entity;
  const fanned = stillShown(current?.fanned, faces(kind, own));
  const sortKeys = resources[kind].sortKeys(own as never);
  const envelope = { _id: id, orgId, version, revision, at, ...(cut && { cut }) };
  const document = { ...envelope, own, joined, refs, ...sortKeys, ...derived, ...(fanned && { fanned }) };
  return { op: 'put', document, guard };
}

/** What a living document says of itself besides its states: that it cannot be shown yet, or how long. */
function deriveFlags(
  kind: Kind,
  own: unknown,
  joined: object,
): Pick<StoredDocument, 'pending' | 'keptUntil'> {
  const { isPending, keptUntil } = projections[kind];
  const until = keptUntil(own as never, joined as never);
  return { ...(isPending(joined as never) && { pending: true }), ...(until && { keptUntil: until }) };
}

/** What stays of a removed entity: no state of its own. A lapsed one keeps its term until it is swept. */
function buried(
  id: string,
  revision: number,
  entity: Entity,
  current: StoredDocument | undefined,
): StoredDocument {
  const { orgId, version, at, cut, deletedAt, expiresAt, lapsed } = entity;
  const until = lapsed && current?.keptUntil;
  return {
    ...{ _id: id, orgId, version, revision, at },
    ...(cut && { cut }),
    ...(deletedAt && { deletedAt }),
    ...(expiresAt && { expiresAt }),
    ...(lapsed && { lapsed }),
    ...(until && { keptUntil: until }),
  };
}

/**
 * Reads the references of what was just written once more. A document that is new, or refers to something
 * new, may have been missed by the fan-out of a change that came between the first read and the write; one
 * whose references were there before cannot, since that fan-out finds it, and writes it whatever it finds.
 */
async function lastLook(store: Store, kind: Kind, writes: Write[], drafts: Draft[]): Promise<string[]> {
  const before = new Map(drafts.map(({ id, current }) => [id, current?.refs]));
  // A parent that shows its first child only is not told of later ones, so each write of it looks again.
  const always = Object.values(projections[kind].edges).some(({ type }) => type === 'first');
  const targets = writes
    .filter(
      ({ op, document }) =>
        always || op === 'put' || !isDeepStrictEqual(before.get(document._id), document.refs),
    )
    .filter(({ document }) => document.own !== undefined && Object.keys(projections[kind].edges).length > 0)
    .map(({ document }) => ({
      ...document,
      id: document._id,
      orgId: document.orgId ?? '',
      own: document.own,
    }));
  if (targets.length === 0) return [];
  const again = await resolve(store, kind, targets);
  return targets
    .filter(({ id, joined, refs }) => {
      const now = again.get(id);
      return (
        now?.ownerDeleted || !isDeepStrictEqual(now?.joined, joined) || !isDeepStrictEqual(now?.refs, refs)
      );
    })
    .map(({ id }) => id);
}
